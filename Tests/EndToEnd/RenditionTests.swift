// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension Serial {
    /// A program that is encoded more than once.
    @Suite("Renditions")
    struct RenditionTests {
        private let directory: TemporaryDirectory
        private let outputs = "/v1/channels/relay/outputs"
        private var recorded: RecordingSet { RecordingSet(directory: directory.file("rec")) }

        init() throws { directory = try TemporaryDirectory() }

        /// Decodes a file whose frame size differs from the program's. The frames are scaled to the program's size, so
        /// that their numbers can be read.
        private func frames(_ path: String) async throws -> DecodedFrames {
            let scaled = directory.file("scaled.mkv")
            try await Clip.make(
                scaled,
                [
                    "-i", path, "-an", "-vf", "scale=320:180:flags=area", "-vsync", "passthrough", "-c:v", "libx264",
                    "-preset", "ultrafast", "-qp", "4",
                ])
            return try await DecodedFrames(scaled)
        }

        /// Returns the positions of the keyframes of a file, in presentation order.
        private func keyframes(_ path: String) async throws -> [Int] {
            let text = try await run(
                "ffprobe",
                ["-v", "error", "-select_streams", "v:0", "-show_entries", "packet=pts,flags", "-of", "csv=p=0", path])
            let packets = text.split(separator: "\n").compactMap { line -> (Int, Bool)? in
                let parts = line.split(separator: ",")
                return parts.first.flatMap { Int($0) }.map { ($0, parts.dropFirst().first?.hasPrefix("K") == true) }
            }
            return packets.sorted { $0.0 < $1.0 }.enumerated().filter(\.element.1).map(\.offset)
        }

        private func size(_ path: String) async throws -> [String] {
            [try await Probe.value(path, "v:0", "width"), try await Probe.value(path, "v:0", "height")]
        }

        private func start(_ arguments: [String]) async throws -> (relay: RelayProcess, api: APIClient) {
            let port = try Ports.free()
            let relay = try RelayProcess(Shape.small + ["--http", "127.0.0.1:\(port)"] + arguments)
            try await relay.says("HTTP at 127.0.0.1:\(port)", within: .seconds(10))
            return (relay, APIClient(base: "http://127.0.0.1:\(port)"))
        }

        @Test("A recording with its own size, bitrate and GOP has each program frame once, and so does the output")
        func whole() async throws {
            let receiver = try await SRTReceiver()
            let result = try await RelayProcess.run(
                Shape.small + ["--duration", "8s", "--srt", receiver.url()]
                    + ["--rendition", "archive#video-bitrate=3M,gop=1s,size=640x360"]
                    + ["--output", "hls:\(directory.file("live"))#rendition=archive,list=20,segment=1s"]
                    + ["--record", recorded.directory, "--record-rendition", "archive", "--segment", "2500ms"])
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(!result.log.contains("left out"), "\(result.log)")
            // This is the program's own encoding.
            let received = try await receiver.recording()
            let own = try await DecodedFrames(received)
            #expect(own.breaks.isEmpty && own.span == 0...239)
            #expect(try await keyframes(received) == [0, 60, 120, 180])
            // The recorded files contain the rendition. Each begins with a keyframe at the recorder's cut, and then has
            // the rendition's own GOP.
            let lengths = [75, 75, 75, 15]
            #expect(recorded.finished.count == lengths.count)
            var (numbers, hashes, samples): ([UInt32?], [String], Int) = ([], [], 0)
            for (path, length) in zip(recorded.finished, lengths) {
                let seen = try await frames(path)
                #expect(seen.counters.count == length, "\(path)")
                #expect(try await size(path) == ["640", "360"])
                #expect(try await keyframes(path) == Array(stride(from: 0, to: length, by: 30)), "\(path)")
                #expect(try await Probe.times(path, "v:0").first == 0)
                if length > 30 {
                    // If a file other than the first begins with a beep, this beep may be faded in.
                    let isFirst = path == recorded.finished[0]
                    let offset = try await AVOffset(path, frames: seen, joins: isFirst ? [] : [0])
                    #expect(offset.milliseconds.count >= 2 && offset.worst <= 10, "\(offset.milliseconds)")
                }
                numbers += seen.counters
                hashes += try await Probe.frameHashes(path)
                samples += try await DecodedAudio(path).samples.count
            }
            #expect(DecodedFrames.breaks(in: numbers).isEmpty && numbers.first == 0 && numbers.last == 239)
            #expect(samples == (240 * 1600 + 1023) / 1024 * 1024)
            let file = try Data(contentsOf: URL(fileURLWithPath: recorded.finished[0]))
            for setting in ["bitrate=3000", "keyint=30 "] { #expect(file.range(of: Data(setting.utf8)) != nil) }
            // All outputs of a rendition get the same frames.
            let playlist = directory.file("live/index.m3u8")
            #expect(try await Probe.frameHashes(playlist) == hashes)
            let verified = try await RelayProcess.run(["recordings", "verify", recorded.directory])
            #expect(verified.ending == .exited(0), "\(verified.log)")
        }

        @Test("A rendition whose encoder is too slow loses frames, and the program loses no frame")
        func starved() async throws {
            let receiver = try await SRTReceiver()
            let slow = "huge#size=3840x2160,preset=veryslow,tune=zerolatency,video-bitrate=20M,gop=1s"
            let result = try await RelayProcess.run(
                Shape.small + ["--duration", "8s", "--srt", receiver.url(), "--rendition", slow]
                    + ["--record", recorded.directory, "--record-rendition", "huge"], within: .seconds(120))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(result.log.contains("frames are left out of the rendition huge"), "\(result.log)")
            let own = try await DecodedFrames(try await receiver.recording())
            #expect(own.breaks.isEmpty && own.span == 0...239)
            // The frames that were not dropped are at their times, and the audio is complete.
            let path = try #require(recorded.finished.first)
            let seen = try await frames(path)
            let times = try await Probe.times(path, "v:0")
            #expect(seen.counters.count == times.count && (2..<240).contains(times.count), "\(times.count) frames")
            for (number, time) in zip(seen.counters, times) {
                #expect(number.map { abs(Double($0) / 30 - time) < 0.001 } == true, "\(time)")
            }
            #expect(try await DecodedAudio(path).samples.count == (240 * 1600 + 1023) / 1024 * 1024)
        }

        @Test("The API adds and removes outputs of a rendition, and refuses an unknown rendition")
        func api() async throws {
            let (first, guest) = (try await SRTReceiver(), try await SRTReceiver())
            let (relay, api) = try await start(
                ["--srt", first.url() + "#name=first", "--rendition", "double#size=640x360,gop=1s"]
                    + ["--record", recorded.directory, "--record-rendition", "double"])
            try await first.hasReceived(bytes: 20_000, within: .seconds(15))
            let unknown = try await api.ask("POST", outputs, body: #"{"address":"\#(guest.url())#rendition=none"}"#)
            #expect(unknown.status == 422 && unknown.body.contains("There is no rendition none; there is double."))
            let body = #"{"address":"\#(guest.url())#name=guest,rendition=double"}"#
            let added = try await api.ask("POST", outputs, body: body)
            #expect(try added.status == 201 && added.json()["rendition"] as? String == "double", "\(added)")
            try await guest.hasReceived(bytes: 100_000, within: .seconds(20))
            let change = #"{"address":"\#(guest.url())#rendition=x"}"#
            let other = try await api.ask("PATCH", outputs + "/guest", body: change)
            #expect(other.status == 422 && other.body.contains("There is no rendition x"), "\(other)")
            #expect(try await api.output("guest")["state"] as? String == "live")
            try await shows(api)
            #expect(try await api.ask("DELETE", outputs + "/guest").status == 204)
            let received = try await guest.recording()
            let split = try await api.ask("POST", "/v1/channels/relay/recording/split")
            #expect(split.status == 202)
            try await eventually("the first file is closed", within: .seconds(15)) { !recorded.finished.isEmpty }
            #expect(try await relay.end(by: SIGTERM, within: .seconds(15)).ending == .exited(0))
            let seen = try await frames(received)
            #expect(seen.breaksBeforeEnd.isEmpty && seen.counters.count > 20, "\(seen.breaks)")
            #expect(try await size(received) == ["640", "360"])
            let own = try await DecodedFrames(try await first.recording())
            #expect(own.breaks.isEmpty && own.span?.lowerBound == 0)
            var numbers: [UInt32?] = []
            for path in recorded.finished { numbers += try await frames(path).counters }
            #expect(recorded.finished.count == 2 && numbers.first == 0 && DecodedFrames.breaks(in: numbers).isEmpty)
        }

        /// Expects that the status and the metrics contain the rendition.
        private func shows(_ api: APIClient) async throws {
            let status = try await api.ask("GET", "/v1/channels/relay").json()
            let rendition = try #require((status["renditions"] as? [[String: Any]])?.first)
            let encoder = try #require(rendition["encoder"] as? [String: Any])
            #expect(rendition["name"] as? String == "double" && rendition["width"] as? Int == 640)
            #expect(rendition["droppedFrames"] as? Int == 0 && encoder["keyframes"] as? Int ?? 0 > 0)
            #expect(status["recordedRendition"] as? String == "double")
            let metrics = try await api.ask("GET", "/metrics").body
            let line = #"relay_rendition_output_frames_total{channel="relay",rendition="double"} "#
            #expect(metrics.contains(line), "\(metrics)")
        }
    }
}
