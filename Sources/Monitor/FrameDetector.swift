// SPDX-License-Identifier: Apache-2.0

package import Media

/// Tells black frames and frames that do not change from others, by a few rows of their luma.
///
/// Looking at a frame of 1920 by 1080 reads 90 kB of it, ten times a second. What is shown again is known without
/// looking. Used by one thread at a time.
package struct FrameDetector: Sendable {
    /// What was found in a frame.
    package struct Reading: Sendable, Hashable {
        /// Whether it is black.
        package var black: Alarm.Reading
        /// Whether it is the same as those before. A black frame is right here: it has an alarm of its own.
        package var frozen: Alarm.Reading
    }

    /// Rows that are looked at, spread over the frame.
    private static let rows = 48
    /// Pixels of a hundred that must be dark in a black frame, as libavfilter's blackdetect has it; with fewer than the
    /// second number it is not black any more.
    private static let darkPercent = (98.0, 95.0)
    /// How much brightness must differ for a pixel to have changed: more than what an encoder makes of a still frame from
    /// one keyframe to the next.
    private static let change: UInt8 = 10

    private let threshold: UInt8
    private let changedPercent: Double
    private var reference: [UInt8] = []
    private var shown: (any FrameStorage)?
    private var last: Reading?

    /// A detector in which pixels up to `blackLevel` percent of full brightness are dark, and a frame of which up to
    /// `frozenLevel` percent of the pixels change is the same as before.
    package init(blackLevel: Double, frozenLevel: Double, isFullRange: Bool) {
        let (black, span) = isFullRange ? (0.0, 255.0) : (16.0, 219.0)
        threshold = UInt8(min(254, max(0, black + blackLevel / 100 * span)))
        changedPercent = frozenLevel
    }

    /// What `frame` is.
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
        // Held against the frame with which it stopped, so that a slow change is one.
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
