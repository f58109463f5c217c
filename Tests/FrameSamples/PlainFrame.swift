// SPDX-License-Identifier: Apache-2.0

internal import Foundation
package import Kernels
package import Media
internal import TestSupport

/// One plane as an array, for reference implementations that are slow but obviously correct.
package struct PlainPlane: Equatable {
    package var width: Int
    package var height: Int
    package var samples: [UInt8]

    package init(width: Int, height: Int, _ sample: (Int, Int) -> UInt8) {
        (self.width, self.height) = (width, height)
        samples = (0..<width * height).map { sample($0 % width, $0 / width) }
    }

    package init(_ plane: Planes.Plane, width: Int, height: Int) {
        self.init(width: width, height: height) { x, y in
            plane.bytes.load(fromByteOffset: y * plane.stride + x, as: UInt8.self)
        }
    }

    package subscript(x: Int, y: Int) -> UInt8 {
        get { samples[y * width + x] }
        set { samples[y * width + x] = newValue }
    }

    /// Returns the sample at this position, or the nearest one if the position is outside.
    package func clamped(_ x: Int, _ y: Int) -> Double {
        Double(self[min(width - 1, max(0, x)), min(height - 1, max(0, y))])
    }

    /// Interpolates between the samples. The center of the first sample is at 0.5.
    package func interpolated(_ x: Double, _ y: Double) -> Double {
        let (px, py) = (min(max(x - 0.5, 0), Double(width - 1)), min(max(y - 0.5, 0), Double(height - 1)))
        let (left, top) = (Int(px), Int(py))
        let (fx, fy) = (px - Double(left), py - Double(top))
        let upper = clamped(left, top) * (1 - fx) + clamped(left + 1, top) * fx
        let lower = clamped(left, top + 1) * (1 - fx) + clamped(left + 1, top + 1) * fx
        return upper * (1 - fy) + lower * fy
    }

    /// The mean of the samples that a rectangle covers, weighted by the covered area.
    package func mean(x: Double, y: Double, width: Double, height: Double) -> Double {
        var (sum, area) = (0.0, 0.0)
        for row in Int(y)..<min(self.height, Int((y + height).rounded(.up))) {
            let tall = min(y + height, Double(row + 1)) - max(y, Double(row))
            for column in Int(x)..<min(self.width, Int((x + width).rounded(.up))) {
                let part = tall * (min(x + width, Double(column + 1)) - max(x, Double(column)))
                sum += part * Double(self[column, row])
                area += part
            }
        }
        return sum / area
    }

    /// The largest difference from `other`. Positions for which `isLeftOut` returns true do not count.
    package func difference(_ other: PlainPlane, except isLeftOut: (Int, Int) -> Bool = { _, _ in false }) -> Int {
        guard other.width == width, other.height == height else { return .max }
        return samples.indices.map { index in
            isLeftOut(index % width, index / width) ? 0 : abs(Int(samples[index]) - Int(other.samples[index]))
        }.max() ?? 0
    }
}

/// A frame as plain arrays.
package struct PlainFrame: Equatable {
    package var y: PlainPlane
    package var u: PlainPlane
    package var v: PlainPlane
    package var planes: [PlainPlane] { [y, u, v] }

    package init(_ planes: [PlainPlane]) { (y, u, v) = (planes[0], planes[1], planes[2]) }

    package init(_ frame: VideoFrame) {
        self = frame.storage.withPlanes { planes in
            PlainFrame([
                PlainPlane(planes.y, width: frame.width, height: frame.height),
                PlainPlane(planes.u, width: frame.width / 2, height: frame.height / 2),
                PlainPlane(planes.v, width: frame.width / 2, height: frame.height / 2),
            ])
        }
    }

    /// Noise.
    package init(width: Int, height: Int, seed: UInt64) {
        var random = SeededRandom(seed: seed)
        func noise(_ width: Int, _ height: Int) -> PlainPlane {
            PlainPlane(width: width, height: height) { _, _ in UInt8.random(in: 0...255, using: &random) }
        }
        self.init([noise(width, height), noise(width / 2, height / 2), noise(width / 2, height / 2)])
    }

    /// One color.
    package init(width: Int, height: Int, _ color: PixelColor) {
        self.init([
            PlainPlane(width: width, height: height) { _, _ in color.y },
            PlainPlane(width: width / 2, height: height / 2) { _, _ in color.u },
            PlainPlane(width: width / 2, height: height / 2) { _, _ in color.v },
        ])
    }

    /// The samples of the three planes, one plane after the other.
    package var bytes: [UInt8] { y.samples + u.samples + v.samples }

    /// In packed memory.
    package var frame: VideoFrame {
        let storage = FrameBuffer(width: y.width, height: y.height) { $0.copyBytes(from: bytes) }
        return VideoFrame(pts: 0, timeBase: .milliseconds, width: y.width, height: y.height, storage: storage)
    }

    /// The frame in memory of `pool`, whose rows are longer than the frame is wide.
    package func frame(in pool: FramePool) -> VideoFrame {
        var canvas = pool.canvas()
        canvas.copy(frame)
        return canvas.finish(pts: 0, timeBase: .milliseconds)
    }

    /// The largest difference from `other` in any plane.
    package func difference(_ other: PlainFrame) -> Int {
        zip(planes, other.planes).map { $0.difference($1) }.max() ?? 0
    }
}

/// The sample that is nearest to a value.
package func sample(_ value: Double) -> UInt8 { UInt8(min(255, max(0, value.rounded()))) }

/// Runs ffmpeg with raw frames as inputs, and returns the raw frames that it outputs.
package func ffmpeg(inputs: [[UInt8]], format: String, width: Int, height: Int, rate: Int = 25, _ filter: String) throws
    -> [UInt8]
{
    let directory = try TemporaryDirectory()
    var arguments = ["ffmpeg", "-v", "error", "-nostdin", "-y", "-filter_complex_threads", "1"]
    for (index, bytes) in inputs.enumerated() {
        try directory.write(bytes, to: "\(index)")
        arguments += ["-f", "rawvideo", "-pix_fmt", format, "-s", "\(width)x\(height)", "-r", "\(rate)"]
        arguments += ["-i", directory.path("\(index)")]
    }
    arguments += ["-filter_complex", filter, "-pix_fmt", format, "-f", "rawvideo", directory.path("out")]
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw FrameSampleFailure(description: "\(arguments)") }
    return try directory.bytes("out")
}

extension PlainFrame {
    /// Creates a frame from `bytes`, which must be exactly one frame of 8 bits and 4:2:0.
    package init(yuv420p bytes: [UInt8], width: Int, height: Int) throws {
        let (luma, chroma) = (width * height, width * height / 4)
        guard bytes.count == luma + 2 * chroma else {
            throw FrameSampleFailure(description: "\(bytes.count) bytes are no frame of \(width)x\(height)")
        }
        self.init([
            plane(bytes[..<luma], width: width, height: height),
            plane(bytes[luma..<luma + chroma], width: width / 2, height: height / 2),
            plane(bytes[(luma + chroma)...], width: width / 2, height: height / 2),
        ])
    }
}

/// Creates a plane from raw bytes.
package func plane(_ bytes: ArraySlice<UInt8>, width: Int, height: Int) -> PlainPlane {
    let start = bytes.startIndex
    return PlainPlane(width: width, height: height) { bytes[start + $1 * width + $0] }
}

/// The reason why a sample frame could not be made.
struct FrameSampleFailure: Error, CustomStringConvertible { let description: String }
