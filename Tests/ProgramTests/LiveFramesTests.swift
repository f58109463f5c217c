// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Program

/// Which frame of a live source a program begins with.
@Suite struct LiveFramesTests {
    private static let storage = FrameBuffer(width: 2, height: 2) {
        $0.initializeMemory(as: UInt8.self, repeating: 0)
    }
    private let rate = FrameRate(50)

    private func due(_ frame: VideoFrame) -> Timestamp? { Timestamp(frame.pts, in: frame.timeBase) }

    /// When a program begins if it looks at 0, when the newest of `count` frames has come.
    private func beginning(_ count: Int64) -> Timestamp? {
        var frames = LiveFrames(frameRate: rate)
        for number in 0..<count {
            let frame = VideoFrame(
                pts: number, timeBase: TimeBase(1, 50), width: 2, height: 2, storage: Self.storage)
            frames.add(frame, limit: 100)
        }
        return frames.firstMoment(after: .zero, due: due)
    }

    @Test("A program began with a frame of silence on a busy machine: its first frame leaves time for its audio")
    func notice() {
        #expect(beginning(20) == rate.start(of: 5))
    }

    @Test("Of a source that is shown at once, half of what time there is must do", arguments: [2, 3, 4, 5])
    func direct(count: Int64) {
        #expect(beginning(count) == rate.start(of: FrameIndex(count / 2)))
    }

    @Test("The newest frame of all is shown if none is in time")
    func late() {
        #expect(beginning(1) == .zero)
        #expect(beginning(0) == nil)
    }
}
