// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension Serial {
    /// HLS in a directory, which ffmpeg plays.
    @Suite("HLS output")
    struct HLSTests {
        private let directory: TemporaryDirectory
        private let live: String
        private var playlist: String { "\(live)/index.m3u8" }

        init() throws {
            directory = try TemporaryDirectory()
            live = directory.file("live")
        }

        private var text: String { (try? String(contentsOfFile: playlist, encoding: .utf8)) ?? "" }

        private func values(of tag: String) -> [String] {
            text.split(separator: "\n").filter { $0.hasPrefix(tag + ":") }.map { String($0.dropFirst(tag.count + 1)) }
        }

        private func segments(of text: String) -> [String] {
            text.split(separator: "\n").filter { $0.hasSuffix(".m4s") }.map(String.init)
        }

        private func hasSegments(_ count: Int, within limit: Duration) async throws {
            try await eventually("\(count) segments", within: limit) { segments(of: text).count >= count }
        }

        @Test("An HLS player gets every frame, whether it follows the live edge or starts after the end")
        func follows() async throws {
            let relay = try RelayProcess(
                Shape.size + ["--fps", "29.97", "--duration", "13s", "--output", "hls:\(live)"])
            try await hasSegments(1, within: .seconds(10))
            let followed = directory.file("followed.mkv")
            let player = try ChildProcess(
                "ffmpeg",
                ["-v", "error", "-nostdin", "-y", "-live_start_index", "0", "-i", playlist]
                    + ["-map", "0", "-c", "copy", followed])
            let result = try await relay.finished(within: .seconds(25))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(try await player.ending(within: .seconds(20)) == .exited(0))
            #expect(player.errors.isEmpty, "\(player.errors)")

            for path in [followed, playlist] {
                let frames = try await DecodedFrames(path)
                #expect(frames.breaks.isEmpty, "\(path)")
                #expect(frames.span == 0...389, "\(path)")
                let offset = try await AVOffset(path, frames: frames)
                #expect(offset.milliseconds.count >= 12 && offset.worst <= 5, "\(path): \(offset.milliseconds)")
                #expect(try await Probe.complaints(path).isEmpty, "\(path)")
            }
            // The durations are exact: three times 120 frames of 1001/30000 s, and the 30 frames that are left.
            #expect(values(of: "#EXTINF") == ["4.004000,", "4.004000,", "4.004000,", "1.001000,"])
            #expect(values(of: "#EXT-X-TARGETDURATION") == ["4"])
            #expect(text.hasSuffix("#EXT-X-ENDLIST\n"))
            // Audio continues from segment to segment without a gap or an overlap.
            let times = try await Probe.times(playlist, "a:0")
            #expect(zip(times, times.dropFirst()).allSatisfy { abs($1 - $0 - 1024.0 / 48000) < 0.0005 })
        }

        @Test("Old HLS segments are deleted, the playlist never lists an incomplete file, and foreign files are kept")
        func window() async throws {
            try FileManager.default.createDirectory(atPath: live, withIntermediateDirectories: true)
            let foreign = "\(live)/holiday.m4s"
            let leftOver = "\(live)/relay-12-3.m4s"
            for path in [foreign, leftOver] { try Data([1]).write(to: URL(fileURLWithPath: path)) }
            let relay = try RelayProcess(
                Shape.small + ["--gop", "1s", "--duration", "22s", "--output", "hls:\(live)#segment=1s,list=3"])
            var largest = 0
            try await eventually("the end", within: .seconds(40)) {
                let names = segments(of: text)
                #expect(names.count <= 3)
                for name in names {
                    let file = FileManager.default.contents(atPath: "\(live)/\(name)")
                    // The fragment is complete: its boxes fill the file.
                    #expect(Self.isWhole(file ?? Data()), "\(name)")
                }
                largest = max(largest, fileNames(in: live).filter { $0.hasSuffix(".m4s") }.count)
                return !relay.process.isRunning
            }
            // There are three segments in the playlist; four or five that left it less than 4 s before a segment ended;
            // the segment that is not in it yet; and the foreign file.
            #expect((7...10).contains(largest))
            #expect(FileManager.default.fileExists(atPath: foreign))
            #expect(!FileManager.default.fileExists(atPath: leftOver))
            #expect((Int(values(of: "#EXT-X-MEDIA-SEQUENCE").first ?? "") ?? 0) >= 7)
            #expect(try await DecodedFrames(playlist).breaks.isEmpty)
        }

        private static func isWhole(_ file: Data) -> Bool {
            var offset = 0
            while offset + 8 <= file.count {
                let size = file[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
                guard size >= 8 else { return false }
                offset += size
            }
            return offset == file.count && offset > 0
        }

        @Test("After a crash the HLS playlist continues with a discontinuity, and old segments keep their header")
        func restart() async throws {
            let arguments = Shape.small + ["--output", "hls:\(live)#segment=2s,list=20"]
            let first = try RelayProcess(arguments)
            try await hasSegments(2, within: .seconds(15))
            first.process.signal(SIGKILL)
            try await first.process.ending(within: .seconds(5))
            let before = segments(of: text)
            let second = try await RelayProcess.run(arguments + ["--duration", "5s"])
            #expect(second.ending == .exited(0), "\(second.log)")

            #expect(Array(segments(of: text).prefix(before.count)) == before)
            #expect(values(of: "#EXT-X-MAP").count == 2)
            #expect(text.split(separator: "\n").filter { $0 == "#EXT-X-DISCONTINUITY" }.count == 1)
            let counters = try await DecodedFrames(playlist).counters
            let old = before.count * 60
            #expect(counters.map { $0 ?? .max } == Array(0..<UInt32(old)) + Array(0..<150))
        }

        @Test(
            "A full disk under the HLS output affects no other output; the output resumes when there is space",
            .needs(SmallDisk.isPossible, "only root can mount a small disk, where it may mount at all"))
        func fullDisk() async throws {
            let disk = try await SmallDisk(megabytes: 50)
            let ballast = "\(disk.path)/ballast"
            let path = "\(disk.path)/live/index.m3u8"
            let server = try await RTMPServer.running()
            let clip = try await Clip.noisy(seconds: 60, in: directory)
            let relay = try RelayProcess(
                ["--input", clip, "--preset", "ultrafast", "--video-bitrate", "8M", "--rtmp", server.url()]
                    + ["--output", "hls:\(disk.path)/live#segment=2s,list=3,endlist=always"])
            try await eventually("two segments", within: .seconds(15)) {
                segments(of: (try? String(contentsOfFile: path, encoding: .utf8)) ?? "").count >= 2
            }
            // The remaining space is used up in a few seconds.
            try Data(count: 42_000_000).write(to: URL(fileURLWithPath: ballast))
            try await relay.says("No space left on device", within: .seconds(30))
            try await relay.says("kB are free", within: .seconds(10))
            let before = try String(contentsOfFile: path, encoding: .utf8)
            for name in segments(of: before) {
                let file = FileManager.default.contents(atPath: "\(disk.path)/live/\(name)")
                #expect(Self.isWhole(file ?? Data()), "\(name)")
            }
            try FileManager.default.removeItem(atPath: ballast)
            try await eventually("the playlist goes on", within: .seconds(15)) {
                let now = try String(contentsOfFile: path, encoding: .utf8)
                return now.contains("#EXT-X-DISCONTINUITY\n") && segments(of: now).last != segments(of: before).last
            }
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(try await Probe.complaints(path).isEmpty)
            let frames = try await DecodedFrames(try await server.recording())
            #expect(frames.breaks.isEmpty && frames.counters.first == 0)
        }

        @Test(
            "If an HLS directory cannot be created, the system's error is reported, and creating it is tried again"
        )
        func missing() async throws {
            let parent = directory.file("parent")
            let relay = try RelayProcess(
                Shape.small + ["--duration", "12s", "--output", "hls:\(parent)/live#segment=2s"])
            try await relay.says("cannot create \(parent)/live: No such file or directory", within: .seconds(5))
            try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
            let result = try await relay.finished(within: .seconds(25))
            #expect(result.ending == .exited(0), "\(result.log)")
            let frames = try await DecodedFrames("\(parent)/live/index.m3u8")
            #expect(frames.breaks.isEmpty && frames.span?.upperBound == 359)
        }
    }
}
