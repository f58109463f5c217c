// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Monitor

@Suite("Detectors")
struct DetectorTests {
    private static let (width, height) = (320, 180)

    /// A frame whose luma is `luma(x, y)`.
    private func frame(_ luma: (Int, Int) -> UInt8) -> VideoFrame {
        let storage = FrameBuffer(width: Self.width, height: Self.height) { bytes in
            for index in bytes.indices { bytes[index] = 128 }
            for y in 0..<Self.height {
                for x in 0..<Self.width { bytes[y * Self.width + x] = luma(x, y) }
            }
        }
        return VideoFrame(pts: 0, timeBase: .milliseconds, width: Self.width, height: Self.height, storage: storage)
    }

    private func detector(fullRange: Bool = false) -> FrameDetector {
        FrameDetector(blackLevel: 10, frozenLevel: 0.05, isFullRange: fullRange)
    }

    @Test("A frame counts as black if at most two percent of its pixels are bright, in limited and in full range")
    func black() {
        for (level, fullRange, expected) in [
            (UInt8(16), false, Alarm.Reading.faulty), (37, false, .faulty), (40, false, .right), (20, true, .faulty),
            (30, true, .right),
        ] {
            var detector = detector(fullRange: fullRange)
            #expect(detector.read(frame { _, _ in level }).black == expected, "\(level)")
        }
        for (lit, expected) in [(5, Alarm.Reading.faulty), (10, .between), (40, .right)] {
            var detector = detector()
            #expect(detector.read(frame { x, _ in x < lit ? 200 : 16 }).black == expected, "\(lit) columns")
        }
    }

    @Test("Video that repeats a frame, as the same object or with equal pixels, counts as frozen despite encoder noise")
    func frozen() {
        var detector = detector()
        let still = frame { x, y in UInt8((x + y) % 200 + 30) }
        #expect(detector.read(still).frozen == .right)
        #expect(detector.read(still).frozen == .faulty)
        for noise in 1..<8 {
            let again = frame { x, y in UInt8((x + y) % 200 + 30) &+ UInt8((x * noise) % 5) }
            #expect(detector.read(again).frozen == .faulty)
        }
    }

    @Test("Video with a small moving object, a cut or a slow fade does not count as frozen")
    func moving() {
        var detector = detector()
        for step in 0..<50 {
            let square = frame { x, y in (step * 4..<step * 4 + 8).contains(x) && (60..<68).contains(y) ? 200 : 90 }
            #expect(detector.read(square).frozen == .right, "\(step)")
        }
        var readings: [Alarm.Reading] = []
        for level in 60..<200 { readings.append(detector.read(frame { _, _ in UInt8(level) }).frozen) }
        // Each frame is nearly the previous one, but none is the one with which the fade began.
        let longest = readings.split(separator: .right).map(\.count).max() ?? 0
        #expect(longest <= 10)
    }

    @Test("Black video does not count as frozen at the same time")
    func blackOnly() {
        var detector = detector()
        let black = frame { _, _ in 16 }
        for _ in 0..<5 { #expect(detector.read(black) == FrameDetector.Reading(black: .faulty, frozen: .right)) }
    }

    @Test("Silence begins below the silence level and ends 6 dB above that level")
    func silence() {
        let detector = SilenceDetector(level: -60)
        for (level, expected) in [(-61.0, Alarm.Reading.faulty), (-58, .between), (-53, .right)] {
            let sample = Float(Decibels.amplitude(level))
            for channels in [[sample, 0], [0, -sample]] {
                let audio = AudioBuffer(
                    position: 0, format: .program, channels: channels.map { Array(repeating: $0, count: 100) })
                #expect(detector.read(audio) == expected, "\(level)")
            }
        }
        #expect(detector.read(.silence(at: 0, count: 0, format: .program)) == .between)
    }
}
