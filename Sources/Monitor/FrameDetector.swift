// SPDX-License-Identifier: Apache-2.0

package import Media

/// Detects black frames and frozen video by examining 48 rows of each frame's luma.
///
/// It reads 90 kB of a frame of 1920 by 1080; the caller passes it about ten frames per second. If the program repeats
/// a frame, the detector recognizes this without reading pixels. Only one thread may use a detector at a time.
package struct FrameDetector: Sendable {
    /// What the detector found in a frame.
    package struct Reading: Sendable, Hashable {
        /// `faulty` if the frame is black.
        package var black: Alarm.Reading
        /// `faulty` if the frame counts as unchanged since the last frame that counted as changed. A frame that is
        /// black, or almost black, counts as `right` here, because there is another alarm for black frames.
        package var frozen: Alarm.Reading
    }

    /// How many rows are examined. They are spread evenly over the frame.
    private static let rows = 48
    /// A frame is black if at least the first percentage of its pixels is dark, as in libavfilter's blackdetect. A
    /// frame is certainly not black if less than the second percentage of its pixels is dark.
    private static let darkPercent = (98.0, 95.0)
    /// A pixel counts as changed if its luma differs by more than this. An encoder changes a still image by less from
    /// one keyframe to the next.
    private static let change: UInt8 = 10

    private let threshold: UInt8
    private let changedPercent: Double
    private var reference: [UInt8] = []
    private var shown: (any FrameStorage)?
    private var last: Reading?

    /// Creates a detector. Pixels up to `blackLevel` percent of full brightness count as dark. A frame counts as
    /// unchanged if at most `frozenLevel` percent of its pixels differ from the last frame that counted as changed.
    package init(blackLevel: Double, frozenLevel: Double, isFullRange: Bool) {
        let (black, span) = isFullRange ? (0.0, 255.0) : (16.0, 219.0)
        threshold = UInt8(min(254, max(0, black + blackLevel / 100 * span)))
        changedPercent = frozenLevel
    }

    /// Examines `frame`, and returns whether it is black and whether the video is frozen.
    package mutating func read(_ frame: VideoFrame) -> Reading {
        if let last, shown === frame.storage { return Reading(black: last.black, frozen: Self.frozen(last.black)) }
        shown = frame.storage
        let rows = Self.sample(frame)
        let dark = Double(Self.dark(rows, upTo: threshold)) * 100 / Double(max(1, rows.count))
        let black: Alarm.Reading =
            dark >= Self.darkPercent.0 ? .faulty : dark >= Self.darkPercent.1 ? .between : .right
        let isSame =
            rows.count == reference.count
            && Double(Self.changed(rows, reference)) * 100 <= changedPercent * Double(rows.count)
        // Each frame is compared with `reference`, the last frame that counted as changed, and not with the previous
        // frame, so that a slow change is noticed, too.
        if !isSame { reference = rows }
        let reading = Reading(black: black, frozen: isSame ? Self.frozen(black) : .right)
        last = reading
        return reading
    }

    private static func frozen(_ black: Alarm.Reading) -> Alarm.Reading { black == .right ? .faulty : .right }

    private static func sample(_ frame: VideoFrame) -> [UInt8] {
        let count = min(rows, frame.height)
        return frame.storage.withPlanes { planes in
            [UInt8](unsafeUninitializedCapacity: count * frame.width) { buffer, initialized in
                for row in 0..<count {
                    let line = frame.height * (2 * row + 1) / (2 * count)
                    let pixels = UnsafeRawBufferPointer(
                        start: planes.y.bytes + line * planes.y.stride, count: frame.width)
                    let end = row * frame.width + frame.width
                    UnsafeMutableRawBufferPointer(
                        rebasing: UnsafeMutableRawBufferPointer(buffer)[..<end].suffix(frame.width)
                    )
                    .copyMemory(from: pixels)
                }
                initialized = count * frame.width
            }
        }
    }

    private static func dark(_ pixels: [UInt8], upTo threshold: UInt8) -> Int {
        pixels.withUnsafeBufferPointer { pixels in
            var count: UInt32 = 0
            for pixel in pixels { count &+= pixel <= threshold ? 1 : 0 }
            return Int(count)
        }
    }

    private static func changed(_ pixels: [UInt8], _ others: [UInt8]) -> Int {
        pixels.withUnsafeBufferPointer { pixels in
            others.withUnsafeBufferPointer { others in
                var count: UInt32 = 0
                for index in 0..<min(pixels.count, others.count) {
                    let (one, other) = (pixels[index], others[index])
                    count &+= max(one, other) &- min(one, other) > change ? 1 : 0
                }
                return Int(count)
            }
        }
    }
}
