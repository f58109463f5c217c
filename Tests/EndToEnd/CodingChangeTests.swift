// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialPeers {
    /// Transport streams whose codecs change from one packet to the next, on the same PIDs and without a pause.
    @Suite("Changes of an input's codecs")
    struct CodingChangeTests {
        private let directory: TemporaryDirectory
        private let set: RecordingSet

        init() throws {
            directory = try TemporaryDirectory()
            set = RecordingSet(directory: directory.file("recordings"))
        }

        /// Ten seconds of the test signal: four seconds as H.264 with AAC, and then the rest as HEVC with `audio`.
        private func stream(audio: String) async throws -> String {
            let own = directory.file("signal")
            let result = try await RelayProcess.run(
                Shape.small + ["--unpaced", "--duration", "10s", "--record", own])
            let signal = try #require(RecordingSet(directory: own).finished.first, "\(result.log)")
            let (before, after) = (directory.file("before.ts"), directory.file("after.ts"))
            let coding = ["-preset", "ultrafast", "-g", "30", "-bf", "0", "-pix_fmt", "yuv420p"]
            try await Clip.make(before, ["-t", "4", "-i", signal, "-c:v", "libx264"] + coding + ["-c:a", "aac"])
            try await Clip.make(
                after,
                ["-ss", "4", "-i", signal, "-c:v", "libx265", "-x265-params", "log-level=error:keyint=30"] + coding
                    + ["-c:a", audio, "-output_ts_offset", "4.2"])
            let whole = directory.file("whole.ts")
            let bytes = try [before, after].map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
            try (bytes[0] + bytes[1]).write(to: URL(fileURLWithPath: whole))
            return whole
        }

        /// Returns the transport stream at `path` from the first program map on that contains a stream of this type.
        private func part(of path: String, fromMapWith type: UInt8) throws -> Data {
            let data = try Data(contentsOf: URL(fileURLWithPath: path))
            let start = stride(from: 0, to: data.count - 187, by: 188).first { start in
                let packet = data[start..<start + 188]
                guard packet[start + 1] & 0x5F == 0x50, packet[start + 2] == 0 else { return false }
                // The type of the first stream follows the adaptation field and the pointer, in a section without
                // descriptors.
                let adaptation = packet[start + 3] & 0x20 == 0 ? 0 : 1 + Int(packet[start + 4])
                return packet[start + 4 + adaptation + 1 + 12] == type
            }
            return data[try #require(start)...]
        }

        @Test("A UDP input that changes from H.264 and AAC to HEVC and MP2 stays visible and audible")
        func decoded() async throws {
            let stream = try await stream(audio: "mp2")
            let port = try Ports.free()
            let relay = try RelayProcess(
                ["--input", "udp://127.0.0.1:\(port)", "--preset", "ultrafast", "--record", set.directory])
            try await eventually("relay listens", within: .seconds(10)) { Ports.isUsed(port, by: "udp") }
            let sender = try TransportStreamSender.start(stream, to: port, audioLater: 0)
            #expect(try await sender.ending(within: .seconds(40)) == .exited(0))
            let result = try await relay.end(by: SIGINT, within: .seconds(20))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(result.log.contains("input is coded in another way now"), "\(result.log)")
            #expect(result.log.contains("HEVC, MP2"), "\(result.log)")
            let recording = try #require(set.finished.first)
            let shown = Set(try await DecodedFrames(recording).counters.compactMap(\.self))
            // There are 180 frames after the change. How soon they are shown depends on the machine.
            #expect(shown.count { $0 >= 125 } > 60, "\(shown.sorted())")
            let beeps = try await DecodedAudio(recording).beeps.count
            #expect(beeps >= 6, "\(beeps)")
        }

        @Test("A copied SRT stream that changes to HEVC and AC-3 begins a new file and sends new program tables")
        func copied() async throws {
            let stream = try await stream(audio: "ac3")
            let (port, entrance) = (try Ports.free(), try Ports.free())
            let receiver = try await SRTReceiver()
            let relay = try RelayProcess(
                ["--input", "srt://127.0.0.1:\(port)?mode=listener", "--copy", "--record", set.directory]
                    + ["--output", receiver.url()])
            try await eventually("relay listens", within: .seconds(10)) { Ports.isUsed(port, by: "udp") }
            let bridge = try ChildProcess(
                "srt-live-transmit",
                ["-a", "no", "udp://127.0.0.1:\(entrance)", "srt://127.0.0.1:\(port)?mode=caller"])
            try await eventually("the bridge listens", within: .seconds(10)) { Ports.isUsed(entrance, by: "udp") }
            let sender = try TransportStreamSender.start(stream, to: entrance, audioLater: 0)
            #expect(try await sender.ending(within: .seconds(40)) == .exited(0))
            try await relay.says("segment finished", within: .seconds(10))
            let result = try await relay.end(by: SIGINT, within: .seconds(20))
            bridge.signal(SIGTERM)
            #expect(result.ending == .exited(0), "\(result.log)")
            var codecs: [String] = []
            for path in set.finished {
                codecs.append(try await Probe.value(path, "v:0", "codec_name"))
                codecs.append(try await Probe.value(path, "a:0", "codec_name"))
                #expect(try await Probe.complaints(path).isEmpty, "\(path)")
            }
            #expect(codecs == ["h264", "aac", "hevc", "ac3"], "\(result.log)")
            let frames = try await set.frames()
            #expect(frames.allSatisfy { $0.breaks.isEmpty }, "\(frames.map(\.breaks))")
            let last = frames.last?.counters.last ?? nil
            #expect((frames.last?.counters.count ?? 0) > 150 && last ?? 0 > 280, "\(String(describing: last))")
            let rest = directory.file("rest.ts")
            try part(of: receiver.file, fromMapWith: 0x24).write(to: URL(fileURLWithPath: rest))
            let sent = try await DecodedFrames(rest)
            #expect(sent.counters.count > 100 && sent.breaks.isEmpty, "\(sent.counters.count) \(sent.breaks)")
        }
    }
}
