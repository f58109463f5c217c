// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialPeers {
    /// How relay ends: by signals, and by kill -9.
    @Suite("Ending relay by signals")
    struct EndTests {
        private let directory: TemporaryDirectory
        private let set: RecordingSet

        init() throws {
            directory = try TemporaryDirectory()
            set = RecordingSet(directory: directory.file("recordings"))
        }

        @Test("After kill -9 the open file can be played, lacks at most 0.6 s, and is completed at the next start")
        func killed() async throws {
            let server = try await RTMPServer.running()
            let arguments = Shape.small + ["--record", set.directory, "--segment", "4s"]
            let relay = try RelayProcess(arguments + ["--rtmp", server.url()])
            try await eventually("a file is finished and the next one grows", within: .seconds(15)) {
                set.finished.count == 1 && (set.open.first.map(fileSize) ?? 0) > 40_000
            }
            relay.process.signal(SIGKILL)
            try await relay.process.ending(within: .seconds(5))

            let finished = set.finished
            let contents = finished.map { FileManager.default.contents(atPath: $0) }
            let open = try #require(set.open.first)
            #expect(set.open.count == 1)
            #expect(try await Probe.complaints(open).isEmpty)
            let sent = try await DecodedFrames(try await server.recording())
            let left = try await DecodedFrames(open)
            #expect(left.breaksBeforeEnd.isEmpty)
            let lost = Int(try #require(sent.span).upperBound) - Int(try #require(left.span).upperBound)
            #expect(lost <= 18, "\(lost) frames of 1/30 s")

            let next = try await RelayProcess.run(arguments + ["--unpaced", "--duration", "2s"])
            #expect(next.ending == .exited(0), "\(next.log)")
            #expect(set.open.isEmpty)
            #expect(set.finished.count == finished.count + 2)
            let completed = String(open.dropLast(".part".count))
            #expect(set.finished.contains(completed))
            #expect(try await Probe.complaints(completed).isEmpty)
            let kept = try await DecodedFrames(completed)
            #expect(kept.counters == left.counters)
            #expect(finished.map { FileManager.default.contents(atPath: $0) } == contents)
        }

        @Test(
            "On SIGINT and SIGTERM relay closes all files, and receivers have got all that was recorded",
            arguments: [SIGINT, SIGTERM])
        func signalled(number: Int32) async throws {
            let server = try await RTMPServer.running()
            let receiver = try await SRTReceiver()
            let relay = try RelayProcess(
                Shape.small + ["--record", set.directory, "--rtmp", server.url(), "--srt", receiver.url()])
            try await server.hasReceived(bytes: 50_000, within: .seconds(10))
            let result = try await relay.end(by: number, within: .seconds(60))
            #expect(result.ending == .exited(0), "\(result.log)")
            // If work was not finished at the deadline, the channel would log a warning with these words.
            #expect(!result.log.contains("in time"), "\(result.log)")
            print("ended \(result.duration) after the signal")
            #expect(set.open.isEmpty)
            let recorded = try await set.counters()
            #expect(DecodedFrames.breaks(in: recorded).isEmpty)
            for path in [try await server.recording(), try await receiver.recording()] {
                let frames = try await DecodedFrames(path)
                #expect(frames.counters == recorded, "\(path): \(frames.counters.count) of \(recorded.count) frames")
            }
        }

        @Test(
            "A second signal ends relay at once, with exit status 128 + the signal's number",
            arguments: [SIGINT, SIGTERM])
        func signalledTwice(number: Int32) async throws {
            let frozen = try await RTMPServer.running()
            defer { frozen.thaw() }
            let clip = try await Clip.noisy(seconds: 20, in: directory)
            let relay = try RelayProcess(
                ["--input", clip, "--preset", "ultrafast", "--video-bitrate", "4M", "--record", set.directory]
                    + ["--rtmp", frozen.url()])
            try await frozen.hasReceived(bytes: 100_000, within: .seconds(10))
            frozen.freeze()
            try await eventually("something is recorded", within: .seconds(10)) {
                (set.open.first.map(fileSize) ?? 0) > 1_500_000
            }
            relay.process.signal(number)
            try await relay.says("once more to end at once", within: .seconds(5))
            // The frozen server delays the end for 2.6 s. A second signal counts only if it comes at least 500 ms after
            // the first.
            try await eventually("a later signal ends it", within: .seconds(30)) {
                relay.process.signal(number)
                return !relay.process.isRunning
            }
            let result = try await relay.finished(within: .seconds(10))
            #expect(result.log.contains("ended at once"), "\(result.log)")
            #expect(result.ending == .exited(128 + number))
        }

        @Test("relay ends normally after two signals microseconds apart, such as those of the command timeout")
        func signalledTogether() async throws {
            let relay = try RelayProcess(Shape.small + ["--record", set.directory])
            try await eventually("something is recorded", within: .seconds(20)) {
                (set.open.first.map(fileSize) ?? 0) > 50_000
            }
            relay.process.signal(SIGTERM)
            relay.process.signal(SIGHUP)
            let result = try await relay.end(by: SIGINT, within: .seconds(60))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(!result.log.contains("ended at once"), "\(result.log)")
            #expect(set.open.isEmpty && set.finished.count == 1)
        }

        @Test("relay started with nohup keeps running when its terminal closes")
        func nohup() async throws {
            let arguments = Shape.small + ["--record", set.directory]
            let relay = try RelayProcess(process: ChildProcess("nohup", [try Tools.relay()] + arguments))
            try await eventually("something is recorded", within: .seconds(20)) {
                (set.open.first.map(fileSize) ?? 0) > 50_000
            }
            relay.process.signal(SIGHUP)
            // SIGUSR1 splits the recording. When this is done, SIGHUP was handled, too.
            relay.process.signal(SIGUSR1)
            try await eventually("a file is finished", within: .seconds(20)) { set.finished.count == 1 }
            try await eventually("the next is open", within: .seconds(20)) { set.open.count == 1 }
            #expect(relay.process.isRunning && !relay.process.errors.contains("ending"))
            let result = try await relay.end(by: SIGINT, within: .seconds(60))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(DecodedFrames.breaks(in: try await set.counters()).isEmpty)
        }

        @Test("relay ends normally on SIGHUP if SIGHUP was not ignored when relay was started")
        func hangup() async throws {
            // The handling of SIGHUP must not depend on how the tests were started.
            let arguments = ["--default-signal=HUP", try Tools.relay()] + Shape.small + ["--record", set.directory]
            let relay = try RelayProcess(process: ChildProcess("env", arguments))
            try await eventually("something is recorded", within: .seconds(20)) {
                (set.open.first.map(fileSize) ?? 0) > 50_000
            }
            let result = try await relay.end(by: SIGHUP, within: .seconds(60))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(set.open.isEmpty && set.finished.count == 1)
        }
    }
}
