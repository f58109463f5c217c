// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialPeers {
    /// If one peer fails, nothing changes for the others.
    @Suite("Faults of RTMP servers")
    struct FaultTests {
        private let directory: TemporaryDirectory
        private let set: RecordingSet

        init() throws {
            directory = try TemporaryDirectory()
            set = RecordingSet(directory: directory.file("recordings"))
        }

        /// Starts a program of 4 Mbit/s, which soon fills the buffers of a connection, in files of 5 s.
        private func start(_ seconds: Int, _ outputs: [String]) async throws -> RelayProcess {
            let clip = try await Clip.noisy(seconds: seconds, in: directory)
            return try RelayProcess(
                ["--input", clip, "--preset", "ultrafast", "--video-bitrate", "4M", "--record", set.directory]
                    + ["--segment", "5s"] + outputs)
        }

        /// Waits until `count` more files are finished; each contains 5 s of the program.
        private func passes(files count: Int, of relay: RelayProcess) async throws {
            let target = set.finished.count + count
            try await eventually("\(count) files are recorded", within: .seconds(count * 5 + 10)) {
                guard relay.process.isRunning else { throw HarnessFailure("relay ended: \(relay.process.errors)") }
                return set.finished.count >= target
            }
        }

        @Test("An RTMP server that freezes does not affect the other outputs, and relay still ends normally")
        func frozen() async throws {
            let (healthy, frozen) = (try await RTMPServer.running(), try await RTMPServer.running())
            defer { frozen.thaw() }
            let receiver = try await SRTReceiver()
            let relay = try await start(
                60, ["--rtmp", frozen.url(), "--rtmp", healthy.url(), "--srt", receiver.url()])
            try await frozen.hasReceived(bytes: 500_000, within: .seconds(10))
            let before = try relay.process.memory("VmRSS")
            frozen.freeze()
            try await passes(files: 4, of: relay)
            let after = try relay.process.memory("VmHWM")
            let result = try await relay.end(by: SIGINT, within: .seconds(20))

            #expect(result.ending == .exited(0), "\(result.log)")
            // scripts/chaos checks how long the end takes, on a machine that does nothing else.
            print("ended \(result.duration) after the signal, beside a frozen server")
            // A queue is limited to 8 MiB, and the memory of the encoder is in the first measurement. The limit here is
            // eight times as high because of allocators, so only a large leak fails this test. scripts/bench measures
            // exact numbers.
            #expect(after - before < 64 << 10, "\(before) KiB, then \(after) KiB")
            #expect(set.open.isEmpty)
            let recorded = try await set.counters()
            #expect(DecodedFrames.breaks(in: recorded).isEmpty)
            #expect(recorded.first == 0)
            for path in [try await healthy.recording(), try await receiver.recording()] {
                let frames = try await DecodedFrames(path)
                #expect(frames.breaks.isEmpty, "\(path)")
                #expect(frames.counters.first == 0, "\(path)")
                #expect(frames.counters.last == recorded.last, "\(path)")
            }
        }

        @Test("An RTMP server that was killed and restarted soon gets the program again from a keyframe on")
        func killed() async throws {
            let (healthy, killed) = (try await RTMPServer.running(), try await RTMPServer.running())
            let relay = try await start(40, ["--rtmp", killed.url(), "--rtmp", healthy.url()])
            try await killed.hasReceived(bytes: 500_000, within: .seconds(10))
            try await killed.kill()
            try await passes(files: 1, of: relay)
            try await killed.start()
            let delay = try await killed.hasReceived(recording: 2, within: .seconds(15))
            print("back on air \(delay) after the server listened")
            try await passes(files: 1, of: relay)
            let result = try await relay.end(by: SIGTERM, within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")

            let recorded = try await set.counters()
            #expect(DecodedFrames.breaks(in: recorded).isEmpty)
            let other = try await DecodedFrames(try await healthy.recording())
            #expect(other.breaks.isEmpty)
            #expect(other.counters.count == recorded.count)
            let back = try #require(try await killed.finishedRecordings().dropFirst().first)
            try await checkResumed(back, until: recorded.last ?? nil)
        }

        /// Checks the file of a later connection: it begins with a keyframe and contains every frame from there on.
        private func checkResumed(_ path: String, until last: UInt32?) async throws {
            #expect(try await Probe.firstFlags(path).hasPrefix("K"))
            #expect(try await Probe.complaints(path).isEmpty)
            let frames = try await DecodedFrames(path)
            #expect(frames.breaks.isEmpty)
            #expect(frames.span?.upperBound == last)
            #expect(frames.counters.count >= 30)
        }

        @Test("An RTMP server that was frozen for 15 to 20 s gets the program again from a keyframe on")
        func thawed() async throws {
            let server = try await RTMPServer.running()
            defer { server.thaw() }
            let relay = try await start(60, ["--rtmp", server.url()])
            try await server.hasReceived(bytes: 500_000, within: .seconds(10))
            server.freeze()
            try await passes(files: 4, of: relay)
            let count = server.recordings.count
            server.thaw()
            try await server.hasReceived(recording: count + 1, bytes: 500_000, within: .seconds(30))
            try await passes(files: 1, of: relay)
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")

            let recorded = try await set.counters()
            #expect(DecodedFrames.breaks(in: recorded).isEmpty)
            let last = try #require(try await server.finishedRecordings().last)
            try await checkResumed(last, until: recorded.last ?? nil)
        }

        @Test("An RTMP server that is frozen for 5 to 10 s keeps its connection, and its stream stays decodable")
        func shortlyFrozen() async throws {
            let server = try await RTMPServer.running()
            defer { server.thaw() }
            let relay = try await start(40, ["--rtmp", server.url()])
            try await server.hasReceived(bytes: 500_000, within: .seconds(10))
            server.freeze()
            try await passes(files: 2, of: relay)
            server.thaw()
            try await passes(files: 1, of: relay)
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")

            let path = try await server.recording()
            #expect(try await Probe.complaints(path).isEmpty)
            let frames = try await DecodedFrames(path)
            // After missing frames, the next frame is a keyframe, so no frame is decoded without its reference.
            let numbers = frames.counters.compactMap(\.self)
            #expect(numbers.count == frames.counters.count)
            #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
            let recorded = try await set.counters()
            #expect(numbers.last == recorded.last)
        }
    }
}
