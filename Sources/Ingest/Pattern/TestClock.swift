// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The times at which the test signal flashes and beeps. Flash and beep come once a second. They begin with the first
/// frame at or after the full second, and last the number of frames that is nearest to 80 ms. At every frame rate,
/// flash and beep coincide to the sample.
struct TestClock: Hashable {
    private let frameRate: FrameRate
    private let sampleBase: TimeBase

    /// How many frames a flash lasts; at least 1.
    let flashLength: Int64

    init(frameRate: FrameRate, sampleRate: Int32) {
        self.frameRate = frameRate
        sampleBase = TimeBase(1, sampleRate)
        flashLength = max(1, TimeBase.milliseconds.rescale(80, to: frameRate.timeBase))
    }

    /// Whether frame `number` flashes.
    func flashes(_ number: Int64) -> Bool {
        let second = frameRate.timeBase.rescale(number, to: TimeBase(1, 1), rounding: .down)
        return number - firstFrame(of: second) < flashLength
    }

    /// The number of the first frame at or after the full second `second`.
    func firstFrame(of second: Int64) -> Int64 { TimeBase(1, 1).rescale(second, to: frameRate.timeBase, rounding: .up) }

    /// The sample at which frame `number` begins.
    func sample(of number: Int64) -> Int64 { frameRate.timeBase.rescale(number, to: sampleBase) }

    /// The samples of the beep in second `second`.
    func beep(in second: Int64) -> Range<Int64> {
        let first = firstFrame(of: second)
        return sample(of: first)..<sample(of: first + flashLength)
    }

    /// The timecode of frame `number` as hours, minutes, seconds and frames: non-drop-frame timecode at the frame rate
    /// rounded up to an integer.
    func timecode(of number: Int64) -> String {
        let rate = (Int64(frameRate.numerator) + Int64(frameRate.denominator) - 1) / Int64(frameRate.denominator)
        let seconds = number / rate
        let parts = [seconds / 3600 % 100, seconds / 60 % 60, seconds % 60, number % rate]
        return parts.map { Self.padded($0, 2) }.joined(separator: ":")
    }

    /// `number` with leading zeros, with at least `length` digits.
    static func padded(_ number: Int64, _ length: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, length - digits.count)) + digits
    }
}
