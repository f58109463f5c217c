// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension Serial {
    /// `relay stitch`: input files with unusual properties.
    @Suite("Inputs of the command `relay stitch`")
    struct StitchInputTests {
        private struct Plan: Decodable {
            struct Clip: Decodable {
                let copiedFrames: Int
                let encodedFrames: Int
                let reasons: [String]
                let notes: [String]
            }
            let clips: [Clip]
        }

        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        /// The test signal, 6 s long, which is recorded once for all tests.
        private static let recorded = Task { try await SignalFile(seconds: 6) }

        private func signal() async throws -> String { try await Self.recorded.value.path }

        private func plan(_ clips: [String]) async throws -> Plan {
            let result = try await RelayProcess.run(["stitch"] + clips + ["--dry-run", "--json"])
            guard result.ending == .exited(0) else { throw HarnessFailure(result.log) }
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            return try decoder.decode(Plan.self, from: Data(result.log.utf8))
        }

        private func stitch(_ clips: [String], _ flags: [String] = []) async throws -> (path: String, log: String) {
            let path = directory.file("out-\(UUID().uuidString).mp4")
            let result = try await RelayProcess.run(["stitch"] + clips + ["-o", path] + flags)
            guard result.ending == .exited(0) else { throw HarnessFailure(result.log) }
            return (path, result.log)
        }

        private func variant(_ name: String, _ arguments: [String], seconds: Int = 3) async throws -> String {
            let path = directory.file(name)
            try await Clip.make(path, ["-t", "\(seconds)", "-i", try await signal()] + arguments)
            return path
        }

        private func numbers(_ path: String) async throws -> [Int?] {
            try await DecodedFrames(path).counters.map { $0.map(Int.init) }
        }

        @Test("An HDR clip among SDR clips is reported, and converted to SDR")
        func dynamicRange() async throws {
            let usual = try await variant("usual.mp4", ["-c:v", "libx264", "-g", "30"])
            let bright = directory.file("bright.mp4")
            try await Clip.make(
                bright,
                ["-f", "lavfi", "-i", "color=c=gray:s=320x180:r=30:d=1,format=yuv420p,geq=lum=200:cb=128:cr=128"]
                    + ["-c:v", "libx264", "-color_primaries", "bt2020", "-color_trc", "arib-std-b67"]
                    + ["-colorspace", "bt2020nc", "-color_range", "tv"])
            let reasons = try await plan([bright, usual]).clips[0].reasons
            #expect(
                reasons.contains { $0.contains("HLG") } && reasons.contains { $0.contains("BT.2020") }, "\(reasons)")
            let (path, _) = try await stitch([bright, usual])
            #expect(try await Probe.complaints(path) == "")
            #expect(try await Probe.value(path, "v:0", "color_transfer") == "bt709")
            let level = directory.file("level")
            try await Clip.make(
                level, ["-i", path, "-frames:v", "1", "-vf", "scale=1:1", "-f", "rawvideo", "-pix_fmt", "gray"])
            // The value 200 in HLG becomes 219, which is 236 in full range. Without a conversion it would be 214.
            let grey = Int(try Data(contentsOf: URL(fileURLWithPath: level)).first ?? 0)
            #expect(abs(grey - 236) <= 4, "\(grey)")
        }

        @Test(
            "If a file starts at a recovery point, none of its visible frames is lost")
        func openGOP() async throws {
            let open = try await variant(
                "open.mp4",
                ["-c:v", "libx264", "-x264-params", "open-gop=1:keyint=30:min-keyint=30:scenecut=0:bframes=2"]
                    + ["-forced-idr", "1", "-force_key_frames", "4", "-c:a", "copy"], seconds: 6)
            // The keyframe at 2 s is only a recovery point, and the one at 4 s is an IDR frame.
            let cut = directory.file("cut.mp4")
            try await Clip.make(cut, ["-ss", "2.2", "-i", open, "-c", "copy"])
            let planned = try await plan([cut]).clips[0]
            #expect(planned.copiedFrames == 60 && planned.encodedFrames == 54, "\(planned)")
            #expect(try await numbers(try await stitch([cut]).path) == Array(66..<180))
        }

        /// Writes a copy of `source` whose edit list shows two seconds of its only track: the first second, and one
        /// second from 1.5 s on.
        private func joinPieces(of source: String, into path: String) throws {
            var data = [UInt8](try Data(contentsOf: URL(fileURLWithPath: source)))
            func number(_ place: Int) -> Int { data[place..<place + 4].reduce(0) { $0 << 8 | Int($1) } }
            func bytes(_ number: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) } }
            var (range, places) = (0..<data.count, [Int]())
            for type in ["moov", "trak", "edts", "elst"] {
                var position = range.lowerBound
                while position + 8 <= range.upperBound, Array(data[position + 4..<position + 8]) != Array(type.utf8) {
                    position += max(8, number(position))
                }
                guard position + 8 <= range.upperBound else { throw HarnessFailure("There is no \(type).") }
                places.append(position)
                range = position + 8..<position + number(position)
            }
            // The data in front of the tables keeps its position.
            let list = places[3]
            let first = number(list + 20)
            let edits = bytes(2) + bytes(1000) + bytes(first) + bytes(0x10000)
            let more = bytes(1000) + bytes(first + 15_360 * 3 / 2) + bytes(0x10000)
            let size = number(list)
            data.replaceSubrange(list + 12..<list + size, with: edits + more)
            for place in places { data.replaceSubrange(place..<place + 4, with: bytes(number(place) + 12)) }
            try Data(data).write(to: URL(fileURLWithPath: path))
        }

        @Test("A clip with an edit list of several parts shows exactly the frames of these parts")
        func pieces() async throws {
            let plain = try await variant("plain.mp4", ["-an", "-c:v", "libx264", "-g", "30"])
            let joined = directory.file("joined.mp4")
            try joinPieces(of: plain, into: joined)
            let clip = try await plan([joined]).clips[0]
            #expect(clip.reasons == ["its edit list joins several pieces"] && clip.encodedFrames == 60, "\(clip)")
            let (path, _) = try await stitch([joined])
            #expect(try await numbers(path) == Array(0..<30) + Array(45..<75))
        }

        @Test("Timestamps that decrease and ends that are missing in a clip are reported with file and time")
        func torn() async throws {
            let text = directory.file("text.mp4")
            try Data("no video".utf8).write(to: URL(fileURLWithPath: text))
            let project = directory.file("show.yaml")
            try Data("segments:\n  - file: text.mp4\n".utf8).write(to: URL(fileURLWithPath: project))
            let listed = try await RelayProcess.run(["stitch", project, "--dry-run"])
            #expect(listed.ending == .exited(66) && listed.log.contains("\(project):2:11: "), "\(listed.log)")
            let stream = try await variant("a.ts", ["-c", "copy"])
            let twice = directory.file("twice.ts")
            let content = try Data(contentsOf: URL(fileURLWithPath: stream))
            try (content + content).write(to: URL(fileURLWithPath: twice))
            let back = try await RelayProcess.run(["stitch", twice, "--dry-run"])
            #expect(back.ending == .exited(66) && back.log.contains("\(twice): its time stamps go back"), "\(back.log)")
            for name in ["whole.mkv", "whole.flv"] {
                let whole = try await variant(name, ["-c", "copy"], seconds: 6)
                #expect(try await plan([whole]).clips.count == 1)
                let cut = directory.file("cut-\(name)")
                let bytes = try Data(contentsOf: URL(fileURLWithPath: whole))
                try bytes.prefix(bytes.count / 2).write(to: URL(fileURLWithPath: cut))
                let result = try await RelayProcess.run(["stitch", cut, "--dry-run"])
                #expect(
                    result.ending == .exited(66) && result.log.contains("\(cut) is truncated: it ends after"),
                    "\(result.log)")
            }
        }

        @Test("Damaged frames in a clip are reported with file and time")
        func damaged() async throws {
            let whole = try await variant("whole.mp4", ["-c:v", "libx264", "-g", "30", "-an"])
            var bytes = try Data(contentsOf: URL(fileURLWithPath: whole))
            let list = try await run(
                "ffprobe",
                ["-v", "error", "-select_streams", "v:0", "-show_entries", "packet=size,pos", "-of", "csv=p=0", whole])
            let packets = list.split(separator: "\n").map { $0.split(separator: ",").compactMap { Int($0) } }
            // The bytes in the middle of slices are damaged, so the lengths of the slices stay correct.
            for packet in packets[40..<58] {
                let (size, position) = (packet[0], packet[1])
                for place in position + size / 2..<position + min(size, size / 2 + 16) { bytes[place] ^= 0x5A }
            }
            let path = directory.file("damaged.mp4")
            try bytes.write(to: URL(fileURLWithPath: path))
            let result = try await stitch([path], ["--size", "640x360"])
            #expect(
                result.log.contains("\(path): ") && result.log.contains("damaged or lost, the first 1s"),
                "\(result.log)")
        }

        @Test("A stitched file verifies as intact in every format, however its audio was joined")
        func verified() async throws {
            let signal = try await signal()
            // More than ten seconds of audio are re-encoded before copied audio follows.
            let other = try await variant("mp3.mp4", ["-c:v", "copy", "-c:a", "libmp3lame"], seconds: 6)
            let clips = [other, other, signal, "\(signal)#from=1,to=4"]
            for (name, flags) in [("a.mp4", []), ("b.mov", []), ("c.mp4", ["--format", "fragmented"])] {
                let folder = directory.file("of-\(name)")
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                let made = try await RelayProcess.run(
                    ["stitch"] + clips + ["--audio", "copy", "-o", "\(folder)/\(name)"] + flags)
                #expect(made.ending == .exited(0), "\(made.log)")
                let found = try await RelayProcess.run(["recordings", "verify", folder])
                #expect(
                    found.ending == .exited(0) && found.log.contains("1 segment, ")
                        && found.log.contains("no frame missing"),
                    "\(name): \(found.log)")
            }
        }

        @Test("Clips with the same rotation are copied, and stay rotated")
        func turned() async throws {
            let turned = directory.file("turned.mp4")
            try await Clip.make(
                turned, ["-i", try await signal(), "-c", "copy", "-metadata:s:v:0", "rotate=90"])
            #expect(try await plan([turned, turned]).clips.allSatisfy { $0.copiedFrames == 180 })
            let (path, _) = try await stitch([turned, turned])
            #expect(try await Probe.complaints(path) == "")
            // ffmpeg rotates the frames that it decodes.
            let own = try await Probe.frameHashes(turned)
            let result = try await Probe.frameHashes(path)
            #expect(own.count == 180 && result == own + own)
        }

        @Test("A transport stream that begins within a GOP is copied; one that lost packets is re-encoded and reported")
        func tornStream() async throws {
            let whole = try await variant("whole.ts", ["-c", "copy"], seconds: 6)
            let bytes = try Data(contentsOf: URL(fileURLWithPath: whole))
            let packet = 188
            let late = directory.file("late.ts")
            try bytes.dropFirst(bytes.count / packet / 6 * packet).write(to: URL(fileURLWithPath: late))
            let begun = try await plan([late]).clips[0]
            #expect(begun.reasons.isEmpty && begun.copiedFrames > 60 && !begun.notes.isEmpty, "\(begun)")
            let lossy = directory.file("lossy.ts")
            let middle = bytes.count / packet / 2 * packet
            try (bytes.prefix(middle) + bytes.dropFirst(middle + 8 * packet)).write(to: URL(fileURLWithPath: lossy))
            let torn = try await plan([lossy]).clips[0]
            #expect(torn.reasons.contains("packets of it are missing or damaged") && torn.copiedFrames == 0, "\(torn)")
        }

        @Test(
            "Frames from other container formats are copied, except in GOPs that a cut divides",
            arguments: ["mkv", "flv", "ts"])
        func demuxed(container: String) async throws {
            let file = try await variant("file.\(container)", ["-c", "copy"], seconds: 6)
            let signal = try await signal()
            let clips = ["\(file)#from=1,to=5", signal]
            // The keyframes are at 2 s and at 4 s.
            let planned = try await plan(clips).clips
            #expect(planned[0].copiedFrames >= 85 && planned[1].copiedFrames == 180, "\(planned)")
            let (path, _) = try await stitch(clips)
            #expect(try await Probe.complaints(path) == "")
            #expect(try await numbers(path) == Array(30..<150) + Array(0..<180))
            let (own, result) = (try await Probe.frameHashes(signal), try await Probe.frameHashes(path))
            #expect(result[30..<115] == own[60..<145])
        }
    }
}
