// SPDX-License-Identifier: Apache-2.0

import Media
import Studio
import Synchronization
import TestSupport
import Testing

@testable import Channel

@Suite("The slate of a program whose packets are copied")
struct EncodedSlateTests {
    /// Collects the descriptions and packets of consecutive slates.
    private final class Taken: EncodedSlate.Sink {
        struct Run {
            let description: StreamDescription
            var packets: [EncodedPacket] = []
        }

        private let kept = Mutex<[Run]>([])
        var runs: [Run] { kept.withLock { $0 } }

        func begin(_ description: StreamDescription) {
            kept.withLock { $0.append(Run(description: description)) }
        }

        func publish(_ packet: EncodedPacket) {
            kept.withLock { runs in
                if !runs.isEmpty { runs[runs.count - 1].packets.append(packet) }
            }
        }

        func finish() {}
    }

    private func track(_ width: Int, _ height: Int) -> TrackDescription {
        TrackDescription(
            video: .h264, frames: FrameFormat(width: width, height: height, sampleAspectRatio: .square, color: .bt709),
            timeBase: .milliseconds, decoderConfiguration: SharedBytes([1]), bitrate: 400_000,
            nominalRate: FrameRate(25))
    }

    @Test("A restarted slate begins with a keyframe at time 0, in the frame size of the input that was on air")
    func secondStart() throws {
        let (taken, log) = (Taken(), CollectedLog())
        let slate = try EncodedSlate(.bars, channel: "one", clock: SystemClock(), logger: log.logger)
        for (index, size) in [(320, 180), (640, 360)].enumerated() {
            slate.start(like: track(size.0, size.1), into: taken)
            // A second start while the slate is running has no effect.
            slate.start(like: track(160, 90), into: taken)
            try eventually("video and audio of slate \(index)") {
                guard taken.runs.count > index else { return false }
                let tracks = Set(taken.runs[index].packets.map(\.track))
                return tracks == [.video, .audio]
            }
            slate.stop()
        }
        let runs = taken.runs
        #expect(runs.map { $0.description.video?.frameFormat?.width } == [320, 640])
        for run in runs {
            let first = run.packets.first { $0.track == .video }
            #expect(first?.isKeyframe == true && first?.ptsNanoseconds == 0)
        }
        #expect(log.lines(containing: "slate") == [])
    }
}
