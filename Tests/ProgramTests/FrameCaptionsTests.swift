// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Program

/// Captions go with the frames that are shown.
@Suite struct FrameCaptionsTests {
    private static let storage = FrameBuffer(width: 2, height: 2) {
        $0.initializeMemory(as: UInt8.self, repeating: 0)
    }

    /// Returns frame `number` of a source with 60 frames per second.
    private func frame(_ number: Int) -> VideoFrame {
        var frame = VideoFrame(
            pts: Int64(number), timeBase: TimeBase(1, 60), width: 2, height: 2, storage: Self.storage)
        frame.captions = [UInt8(number), 1, 2]
        return frame
    }

    @Test(
        "Captions of a file's dropped frames appear on the next frame, and no caption appears twice",
        arguments: [30, 60, 90])
    func file(rate: Int32) {
        var store = FrameStore()
        let rate = FrameRate(rate)
        var shown: [UInt8] = []
        for index in 0..<Int64(rate.numerator) {
            for number in 0..<60
            where rate.frame(at: ProgramInstant(Int64(number), in: TimeBase(1, 60))) == FrameIndex(index) {
                store.add(frame(number), at: FrameIndex(index))
            }
            shown += store.choose(for: FrameIndex(index))?.captions ?? []
        }
        #expect(Array((0..<60).flatMap { [UInt8($0), 1, 2] }.prefix(shown.count)) == shown && shown.count >= 58 * 3)
        store.add(frame(100), at: 200)
        store.add(frame(101), at: 201)
        store.add(frame(102), at: 202)
        store.trim(to: 1)
        #expect(store.choose(for: 202)?.captions.suffix(9) == [100, 1, 2, 101, 1, 2, 102, 1, 2])
    }

    @Test("Captions of a live source's dropped or late frames appear on the next frame, and no caption appears twice")
    func live() {
        let rate = FrameRate(60)
        var frames = LiveFrames(frameRate: rate)
        let line = ProgramClockLine(origin: .zero, image: .zero, rate: 0)
        let due = { (frame: VideoFrame) in Optional(MonotonicInstant(frame.pts, in: frame.timeBase)) }
        for number in 0..<6 { frames.add(frame(number), limit: 4) }
        // Two were pushed out, and two more are too late when the program begins.
        let fourth = MonotonicInstant(4, in: rate.timeBase)
        #expect(frames.firstMoment(after: fourth - .milliseconds(20), due: due) == fourth)
        let first = frames.choose(for: 3, on: line, due: due)
        #expect(first?.frame.captions == [0, 1, 2, 1, 1, 2, 2, 1, 2, 3, 1, 2] && first?.newlyDue == nil)
        #expect(frames.choose(for: 4, on: line, due: due)?.frame.captions == [4, 1, 2])
        #expect(frames.choose(for: 5, on: line, due: due)?.frame.captions == [5, 1, 2])
        #expect(frames.choose(for: 6, on: line, due: due)?.frame.captions == [])
        for number in 7..<10 { frames.add(frame(number), limit: 4) }
        #expect(frames.choose(for: 9, on: line, due: due)?.frame.captions == [7, 1, 2, 8, 1, 2, 9, 1, 2])
    }

    @Test("Captions of a frame that is shown early, for lack of another frame, appear when the frame is due")
    func early() {
        var frames = LiveFrames(frameRate: FrameRate(60))
        let line = ProgramClockLine(origin: .zero, image: .zero, rate: 0)
        let due = { (frame: VideoFrame) in Optional(MonotonicInstant(frame.pts, in: frame.timeBase)) }
        frames.add(frame(5), limit: 4)
        #expect(frames.choose(for: 0, on: line, due: due)?.frame.captions == [])
        #expect(frames.choose(for: 5, on: line, due: due)?.frame.captions == [5, 1, 2])
    }
}
