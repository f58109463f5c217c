// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension Serial {
    /// `relay stitch`: audio packets that are copied, and the points at which they meet encoded packets.
    @Suite("Audio of stitched clips")
    struct StitchAudioTests {
        private struct Plan: Decodable {
            struct Clip: Decodable {
                let copiesAudio: Bool
                let movedUs: Int
                let copiedFrames: Int
            }
            let codec: String
            let clips: [Clip]
        }

        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        /// The test signal, 20 s long, which is recorded once for all tests.
        private static let recorded = Task { try await SignalFile(seconds: 20) }

        private func signal() async throws -> String { try await Self.recorded.value.path }

        private func plan(_ clips: [String], _ flags: [String] = []) async throws -> Plan {
            let result = try await RelayProcess.run(["stitch"] + clips + ["--dry-run", "--json"] + flags)
            guard result.ending == .exited(0) else { throw HarnessFailure(result.log) }
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            return try decoder.decode(Plan.self, from: Data(result.log.utf8))
        }

        private func stitch(_ clips: [String], _ flags: [String] = []) async throws -> String {
            let path = directory.file("out-\(UUID().uuidString).mp4")
            let result = try await RelayProcess.run(["stitch"] + clips + ["-o", path] + flags)
            guard result.ending == .exited(0) else { throw HarnessFailure(result.log) }
            return path
        }

        /// Returns a hash of each packet of a track.
        private func packets(_ path: String, _ stream: String) async throws -> [String] {
            let text = try await run(
                "ffmpeg",
                ["-v", "error", "-nostdin", "-i", path, "-map", "0:\(stream)", "-c", "copy", "-f", "framemd5", "-"])
            return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap {
                $0.split(separator: ",").last.map { $0.trimmingCharacters(in: .whitespaces) }
            }
        }

        /// Compares each 5 ms of `audio` with the audio that is `shift` samples later in `source`. Returns the largest
        /// root mean square of the differences.
        private func worst(_ audio: DecodedAudio, _ source: DecodedAudio, _ range: Range<Int>, shift: Int) -> Double {
            let moved = DecodedAudio(samples: range.map { source.samples[$0 + shift] })
            let own = DecodedAudio(samples: Array(audio.samples[range]))
            return stride(from: 0, to: range.count - 240, by: 240).map {
                own.difference(from: moved, in: $0..<$0 + 240)
            }
            .max() ?? .infinity
        }

        @Test("A stitch of one part of a file copies the file's audio packets unchanged")
        func piece() async throws {
            let signal = try await signal()
            let clip = "\(signal)#from=2.5,to=9.3"
            #expect(try await plan([clip]).clips[0].copiesAudio)
            let path = try await stitch([clip])
            #expect(try await Probe.complaints(path) == "")
            let (source, result) = (try await packets(signal, "a:0"), try await packets(path, "a:0"))
            // The hash of the first packet also covers the number of samples that a decoder must skip, so this packet
            // is not compared.
            let isRun = (0...source.count - result.count).contains { first in
                source[first + 1..<first + result.count].elementsEqual(result.dropFirst())
            }
            #expect(isRun, "\(result.count) packets")
            let (whole, audio) = (try await DecodedAudio(signal), try await DecodedAudio(path))
            #expect(abs(audio.samples.count - 326_400) <= 1024)
            #expect(worst(audio, whole, 0..<326_400 - 1024, shift: 120_000) < 0.01)
            let frames = try await DecodedFrames(path)
            #expect(frames.breaks.isEmpty && frames.counters.first == 75 && frames.counters.count == 204)
            #expect(try await AVOffset(path, frames: frames).worst < 1)
        }

        @Test("Audio that is copied into a clip is shifted together with the frames, without losing a sample or frame")
        func moved() async throws {
            let signal = try await signal()
            // 97 frames last 155 200 samples, which is 576 more than a whole number of packets.
            let clips = ["\(signal)#to=5", "\(signal)#from=8.2333,to=14.5", "\(signal)#from=16,to=19"]
            let plan = try await plan(clips, ["--audio", "copy"])
            #expect(plan.clips.allSatisfy(\.copiesAudio) && plan.clips[0].movedUs == 0, "\(plan)")
            #expect(
                plan.clips.contains { $0.movedUs != 0 } && plan.clips.allSatisfy { abs($0.movedUs) < 22_000 }, "\(plan)"
            )
            let path = try await stitch(clips, ["--audio", "copy"])
            #expect(try await Probe.complaints(path) == "")
            let frames = try await DecodedFrames(path)
            #expect(frames.counters.count == 150 + 188 + 90)
            for (part, first) in [(0..<150, 0), (150..<338, 247), (338..<428, 480)] {
                #expect(DecodedFrames.breaks(in: Array(frames.counters[part])).isEmpty)
                #expect(frames.counters[part.lowerBound] == UInt32(first))
            }
            #expect(try await AVOffset(path, frames: frames).worst < 1)
            let times = try await Probe.times(path, "v:0")
            for (index, pair) in zip(times, times.dropFirst()).enumerated() where ![149, 337].contains(index) {
                #expect(abs(pair.1 - pair.0 - 1 / 30) < 0.0005, "\(index)")
            }
            let packets = try await Probe.packetTicks(path, "a:0")
            #expect(zip(packets, packets.dropFirst()).allSatisfy { $1.pts - $0.pts == 1024 })
            let source = Set(try await self.packets(signal, "a:0"))
            let result = try await self.packets(path, "a:0")
            // There are two bridges of encoded packets, of at most a dozen packets each.
            #expect(result.filter { !source.contains($0) }.count < 30, "\(result.count)")
            try await heard(path, plan.clips.map(\.movedUs), signal)
        }

        /// Expects that the audible audio outside the fades is that of the source.
        private func heard(_ path: String, _ moves: [Int], _ signal: String) async throws {
            let (whole, audio) = (try await DecodedAudio(signal), try await DecodedAudio(path))
            let (places, firsts) = ([0, 240_000, 540_800, 684_800], [0, 395_200, 768_000])
            for clip in 0..<3 {
                let move = Int((Double(moves[clip]) * 0.048).rounded())
                let next = clip < 2 ? Int((Double(moves[clip + 1]) * 0.048).rounded()) : move
                let range = places[clip] + move + 960..<places[clip + 1] + next - 1984
                let difference = worst(audio, whole, range, shift: firsts[clip] - places[clip] - move)
                #expect(difference < 0.02, "clip \(clip): \(difference)")
            }
        }

        @Test("A loud transient where copied audio packets meet encoded ones is audible unchanged")
        func bangs() async throws {
            let file = directory.file("bangs.mp4")
            // At these samples the copied packets of the first clip end, and those of the second clip begin.
            let bangs = [92_400, 122_000].map { place in
                "0.5*sin(2*PI*3000*t)*exp(-max(0,t-\(place)/48000)*150)*gte(t,\(place)/48000)"
            }
            try await Clip.make(
                file,
                ["-t", "5", "-i", try await signal(), "-f", "lavfi", "-i"]
                    + ["aevalsrc='0.1*sin(2*PI*440*t)+\(bangs.joined(separator: "+"))':s=48000:d=5"]
                    + ["-map", "0:v", "-map", "1:a", "-ac", "2", "-c:v", "copy", "-c:a", "aac", "-b:a", "192k"])
            let clips = ["\(file)#to=2", "\(file)#from=2.5,to=4.5"]
            let plan = try await plan(clips, ["--audio", "copy"])
            #expect(plan.clips.allSatisfy { $0.copiesAudio }, "\(plan)")
            let path = try await stitch(clips, ["--audio", "copy"])
            let (whole, audio) = (try await DecodedAudio(file), try await DecodedAudio(path))
            #expect(worst(audio, whole, 88_000..<94_500, shift: 0) < 0.01)
            let move = Int((Double(plan.clips[1].movedUs) * 0.048).rounded())
            #expect(worst(audio, whole, 97_000 + move..<104_000 + move, shift: 24_000 - move) < 0.01)
        }

        @Test("The frames of short clips keep their positions, and with --audio encode no audio packet is copied")
        func short() async throws {
            let signal = try await signal()
            let clips = ["\(signal)#to=5", "\(signal)#from=8.2333,to=14.5"]
            #expect(try await plan(clips).clips.allSatisfy { $0.movedUs == 0 })
            let none = try await plan(clips, ["--audio", "encode"])
            #expect(none.clips.allSatisfy { !$0.copiesAudio && $0.movedUs == 0 })
            let path = try await stitch(clips)
            let ticks = try await Probe.packetTicks(path, "v:0").map(\.pts).sorted()
            let steps = Set(zip(ticks, ticks.dropFirst()).map { $1 - $0 })
            #expect(steps.count == 1, "\(steps)")
        }

        @Test("Whole HEVC files with open GOPs are copied, and HEVC that begins at a later keyframe is re-encoded")
        func openGOP() async throws {
            let signal = try await signal()
            let open = directory.file("open.mp4")
            let hevc = [
                "-c:v", "libx265", "-x265-params", "log-level=none:open-gop=1:keyint=30:min-keyint=30:scenecut=0",
            ]
            try await Clip.make(open, ["-i", signal, "-t", "4"] + hevc + ["-c:a", "copy"])
            let whole = try await plan([open, open])
            #expect(whole.codec == "hevc" && whole.clips.allSatisfy { $0.copiedFrames == 120 })
            let joined = try await DecodedFrames(try await stitch([open, open]))
            #expect(joined.counters.map { $0.map(Int.init) } == Array(0..<120) + Array(0..<120))
            let flat = directory.file("flat.mp4")
            try await Clip.make(
                flat,
                ["-i", signal, "-t", "4", "-c:v", "libx265", "-c:a", "copy", "-x265-params"]
                    + ["log-level=none:open-gop=1:keyint=30:min-keyint=30:scenecut=0:bframes=0"])
            for file in [open, flat] {
                // There is a keyframe at 2 s, and later keyframes follow.
                let clips = ["\(file)#to=2", "\(file)#from=1,to=3"]
                let path = try await stitch(clips)
                #expect(try await plan(clips).codec == "h264")
                #expect(try await Probe.complaints(path) == "")
                let frames = try await DecodedFrames(path)
                #expect(frames.counters.map { $0.map(Int.init) } == Array(0..<60) + Array(30..<90), "\(file)")
            }
        }
    }
}
