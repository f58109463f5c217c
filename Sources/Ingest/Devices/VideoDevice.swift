// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc
internal import Media

/// A V4L2 device that captures video, with its capabilities.
package struct VideoDevice: Sendable, Hashable, Codable {
    /// A frame format and a frame size, with the frame rates that the device supports for them.
    package struct Mode: Sendable, Hashable, Codable {
        /// The format's name of four characters, such as `MJPG` or `YUYV`.
        package var format: String
        /// The number of columns; for a device that supports any size, the maximum number.
        package var width: Int
        /// The number of rows; for a device that supports any size, the maximum number.
        package var height: Int
        /// The frame rates, as written for `--fps`; for a device that supports any rate, the maximum rate.
        package var rates: [String]
    }

    /// The value for `--input`.
    package var address: String
    /// The driver's name for the device.
    package var name: String
    /// The supported modes.
    package var modes: [Mode]
    /// Why the modes are not known; nil if they are known.
    package var fault: String?
}

extension VideoDevice {
    /// Calls one of the ioctls of V4L2 (linux/videodev2.h) on a device, and returns 0 or -1.
    typealias Ask = (_ request: UInt, _ argument: UnsafeMutableRawPointer) -> Int32

    /// The devices of this machine, in the order of their numbers.
    package static func all(in directory: String = "/dev") -> [VideoDevice] {
        let numbers = fileNames(in: directory).compactMap { $0.hasPrefix("video") ? Int($0.dropFirst(5)) : nil }
        return numbers.sorted().compactMap { number in
            let path = "\(directory)/video\(number)"
            let descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            guard descriptor >= 0 else {
                return VideoDevice(
                    address: "v4l2:\(path)", name: "", modes: [], fault: String(cString: strerror(errno)))
            }
            defer { close(descriptor) }
            return VideoDevice(path: path) { relay_ioctl(descriptor, $0, $1) }
        }
    }

    /// Reads the device at `path` with `ask`, which calls the device's ioctls. Nil if the device does not capture
    /// video: a camera can have several nodes in `/dev`, and not all of them capture video.
    init?(path: String, ask: Ask) {
        var capability = v4l2_capability()
        guard ask(relay_v4l2_querycap, &capability) == 0 else { return nil }
        let hasOwn = capability.capabilities & 0x8000_0000 != 0  // V4L2_CAP_DEVICE_CAPS
        let abilities = hasOwn ? capability.device_caps : capability.capabilities
        let single = abilities & 0x1 != 0  // V4L2_CAP_VIDEO_CAPTURE
        let planar = abilities & 0x1000 != 0  // V4L2_CAP_VIDEO_CAPTURE_MPLANE
        guard single || planar else { return nil }
        address = "v4l2:\(path)"
        name = Self.text(capability.card)
        // The two buffer types are V4L2_BUF_TYPE_VIDEO_CAPTURE (1) and V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE (9).
        modes = Self.modes(type: single ? 1 : 9, ask)
    }

    /// The maximum number of entries that are read from each of a driver's lists (formats, sizes, frame rates), so that
    /// a driver whose list never ends does not block.
    private static let most: UInt32 = 256

    private static func modes(type: UInt32, _ ask: Ask) -> [Mode] {
        var modes: [Mode] = []
        for index in 0..<most {
            var format = v4l2_fmtdesc()
            (format.index, format.type) = (index, type)
            guard ask(relay_v4l2_enum_fmt, &format) == 0 else { break }
            modes += sizes(of: format.pixelformat, ask)
        }
        return modes
    }

    private static func sizes(of format: UInt32, _ ask: Ask) -> [Mode] {
        var modes: [Mode] = []
        for index in 0..<most {
            var size = v4l2_frmsizeenum()
            (size.index, size.pixel_format) = (index, format)
            guard ask(relay_v4l2_enum_framesizes, &size) == 0 else { break }
            let isDiscrete = size.type == 1  // V4L2_FRMSIZE_TYPE_DISCRETE
            let (width, height) =
                isDiscrete
                ? (size.discrete.width, size.discrete.height) : (size.stepwise.max_width, size.stepwise.max_height)
            modes.append(
                Mode(
                    format: code(format), width: Int(width), height: Int(height),
                    rates: rates(of: format, width, height, ask)))
            if !isDiscrete { break }
        }
        return modes
    }

    private static func rates(of format: UInt32, _ width: UInt32, _ height: UInt32, _ ask: Ask) -> [String] {
        var rates: [String] = []
        for index in 0..<most {
            var interval = v4l2_frmivalenum()
            (interval.index, interval.pixel_format) = (index, format)
            (interval.width, interval.height) = (width, height)
            guard ask(relay_v4l2_enum_frameintervals, &interval) == 0 else { break }
            let isDiscrete = interval.type == 1  // V4L2_FRMIVAL_TYPE_DISCRETE
            let length = isDiscrete ? interval.discrete : interval.stepwise.min
            guard let rate = rate(length) else { continue }
            rates.append(rate)
            if !isDiscrete { break }
        }
        return rates
    }

    /// Returns the frame rate for the frame duration `length`, in seconds; nil if the duration is invalid.
    private static func rate(_ length: v4l2_fract) -> String? {
        guard let numerator = Int32(exactly: length.denominator), let denominator = Int32(exactly: length.numerator),
            numerator > 0, denominator > 0
        else { return nil }
        return FrameRate(numerator, denominator).description
    }

    private static func code(_ format: UInt32) -> String {
        let bytes = (0..<4).map { UInt8(truncatingIfNeeded: format >> ($0 * 8)) }
        return String(decoding: bytes.filter { (33..<127).contains($0) }, as: UTF8.self)
    }

    private static func text<T>(_ bytes: T) -> String {
        withUnsafeBytes(of: bytes) { raw in
            String(decoding: raw.prefix { $0 != 0 }.filter { (32..<127).contains($0) }, as: UTF8.self)
        }
    }

    private static func fileNames(in directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) { names.append(text(entry.pointee.d_name)) }
        return names
    }
}
