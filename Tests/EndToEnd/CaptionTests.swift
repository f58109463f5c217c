// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialShows {
    /// Closed captions in SEI messages.
    @Suite("Captions")
    struct CaptionTests {
        private let directory: TemporaryDirectory
        private let set: RecordingSet

        init() throws {
            directory = try TemporaryDirectory()
            set = RecordingSet(directory: directory.file("recordings"))
        }

        @Test(
            "Captions appear once and in order in the encoded stream, even if their frames are dropped or repeated",
            arguments: [
                [], ["--copy"], ["--copy-audio"], ["--copy-video"], ["--fps", "12"], ["--fps", "50"],
                ["--fps", "30", "--size", "160x90"],
            ])
        func recorded(flags: [String]) async throws {
            let input = directory.file("captioned.mp4")
            try await CaptionedClip.make(input, seconds: 4, in: directory)
            let all = (0..<100).flatMap(CaptionedClip.data)
            #expect(try await CaptionedClip.captions(input) == all)
            let result = try await RelayProcess.run(
                ["--input", input, "--unpaced", "--record", set.directory] + flags)
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(try await CaptionedClip.captions(try #require(set.finished.first)) == all)
        }

        @Test("Captions of a live input reach every output", arguments: [[], ["--copy"]])
        func live(flags: [String]) async throws {
            let input = directory.file("captioned.mp4")
            try await CaptionedClip.make(input, seconds: 5, in: directory)
            let (server, receiver) = (try await RTMPServer.running(), try await SRTReceiver())
            let port = try Ports.free()
            let relay = try RelayProcess(
                ["--input", "udp://127.0.0.1:\(port)", "--preset", "ultrafast", "--rtmp", server.url()]
                    .filter { flags.isEmpty || !["--preset", "ultrafast"].contains($0) } + flags
                    + ["--srt", receiver.url()])
            try await eventually("relay listens", within: .seconds(10)) { Ports.isUsed(port, by: "udp") }
            let sender = try ChildProcess(
                "ffmpeg",
                ["-v", "error", "-nostdin", "-re", "-i", input, "-c", "copy", "-f", "mpegts"]
                    + ["udp://127.0.0.1:\(port)?pkt_size=1316"])
            try await server.receives(.milliseconds(3500))
            let result = try await relay.end(by: SIGINT, within: .seconds(20))
            sender.signal(SIGTERM)
            #expect(result.ending == .exited(0), "\(result.log)")
            let all = (0..<125).flatMap(CaptionedClip.data)
            for path in [try await server.recording(), try await receiver.recording()] {
                let shown = try await CaptionedClip.captions(path)
                #expect(shown.count >= 3 * 75)
                #expect(all.contains(shown), "\(path)")
            }
        }
    }
}
