// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension SerialRecordings {
    /// A disk that becomes full, or is too small from the start.
    @Suite("Storage", .needs(SmallDisk.isPossible, "only root can mount a small disk, where it may mount at all"))
    struct StorageTests {
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        /// Fills a disk of 50 MB to the end, frees space, and looks at everything.
        @Test(
            "On a disk that becomes full the stream loses nothing, and recording resumes when space is free",
            arguments: [("8MB", "suspended"), ("0B", "recording failed")])
        func becomesFull(reserve: String, sign: String) async throws {
            let disk = try await SmallDisk(megabytes: 50)
            let ballast = "\(disk.path)/ballast"
            // What is left fills up in some ten seconds; what it occupies lets recording resume.
            try Data(count: 38_000_000).write(to: URL(fileURLWithPath: ballast))
            let set = RecordingSet(directory: "\(disk.path)/recordings")
            let server = try await RTMPServer.running()
            let clip = try await Clip.noisy(seconds: 60, in: directory)
            let relay = try RelayProcess(
                ["--input", clip, "--preset", "ultrafast", "--video-bitrate", "8M", "--segment", "3s"]
                    + ["--expect", "2s", "--disk-reserve", reserve, "--record", set.directory]
                    + ["--rtmp", server.url()])
            try await relay.says(sign, within: .seconds(40))
            try await eventually("the last file is closed", within: .seconds(5)) { set.open.isEmpty }
            let before = set.finished
            for path in before { #expect(try await Probe.complaints(path).isEmpty, "\(path)") }
            let last = try await DecodedFrames(try #require(before.last))
            #expect(last.breaksBeforeEnd.isEmpty && !last.counters.isEmpty)

            try FileManager.default.removeItem(atPath: ballast)
            try await eventually("recording resumes", within: .seconds(15)) { set.finished.count >= before.count + 2 }
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(set.open.isEmpty)
            try await check(set, before: before.count, against: try await server.recording(), log: result.log)
        }

        private func check(_ set: RecordingSet, before: Int, against received: String, log: String) async throws {
            let stream = try await DecodedFrames(received)
            #expect(stream.breaks.isEmpty)
            #expect(stream.counters.first == 0)
            let files = try await set.frames()
            for (index, file) in files.enumerated() {
                let breaks = index == before - 1 ? file.breaksBeforeEnd : file.breaks
                #expect(breaks.isEmpty, "file \(index + 1)")
            }
            #expect(DecodedFrames.breaks(in: files.dropFirst(before).flatMap(\.counters)).isEmpty)
            let recorded = files.flatMap(\.counters).compactMap(\.self)
            #expect(Set(recorded).count == recorded.count)
            #expect(recorded.last == stream.counters.last)
            for path in set.finished { #expect(try await Probe.complaints(path).isEmpty, "\(path)") }

            // The log counts what is missing.
            let missing = Set(stream.counters.compactMap(\.self)).subtracting(recorded).count
            #expect(missing > 0)
            #expect(log.contains("gap in the recording: \(missing) frames"), "\(missing): \(log)")
        }

        @Test("An archive that fills its disk makes room for itself, and recording never stops")
        func makesRoom() async throws {
            let disk = try await SmallDisk(megabytes: 30)
            let set = RecordingSet(directory: "\(disk.path)/recordings")
            let server = try await RTMPServer.running()
            let clip = try await Clip.noisy(seconds: 40, in: directory)
            let relay = try RelayProcess(
                ["--input", clip, "--preset", "ultrafast", "--video-bitrate", "8M", "--segment", "2s"]
                    + ["--expect", "2s", "--disk-reserve", "2MB", "--record", set.directory, "--rtmp", server.url()]
                    + ["--keep-free", "45%", "--keep-min", "0s"])
            let result = try await relay.finished(within: .seconds(80))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(result.log.contains("segment deleted: less than 45% of the disk is free"))
            #expect(!result.log.contains("gap in the recording") && !result.log.contains("storage stopped"))
            let stream = try await DecodedFrames(try await server.recording())
            #expect(stream.breaks.isEmpty && stream.counters.first == 0)
            let recorded = try await set.counters()
            #expect(DecodedFrames.breaks(in: recorded).isEmpty, "what is left is the end of the program, whole")
            #expect(recorded.last == stream.counters.last)
            #expect(recorded.count < stream.counters.count)
        }

        @Test(
            "Retention that makes no sense is refused in one sentence",
            arguments: [
                (["--keep", "10s"], "shorter than one file"), (["--keep", "40m"], "--keep-min"),
                (["--keep-size", "2MB"], "less than one file"), (["--keep-free", "900PB"], "not an amount"),
                (["--keep-free", "900TB"], "more than the disk holds"), (["--keep-free", "0%"], "1% to 90%"),
            ])
        func nonsense(flags: [String], sentence: String) async throws {
            let result = try await RelayProcess.run(
                Shape.small + ["--record", directory.file("recordings"), "--expect", "1s"] + flags)
            #expect(result.ending == .exited(64), "\(result.log)")
            #expect(result.log.contains(sentence), "\(result.log)")
        }

        @Test("A recording that cannot fit is refused, with the three numbers, if there is nothing else to do")
        func refused() async throws {
            let disk = try await SmallDisk(megabytes: 50)
            let result = try await RelayProcess.run(
                Shape.size + ["--record", "\(disk.path)/recordings", "--disk-reserve", "1MB"])
            #expect(result.ending == .exited(75), "\(result.log)")
            // 2 × (1 Mbit/s + 160 kbit/s) × 3600 s × 1.02, and what there is.
            for number in ["1.0 GB", "1.16 Mbit/s", "1h", "52.4 MB", "short"] {
                #expect(result.log.contains(number), "\(number): \(result.log)")
            }
        }

        @Test("A recording that cannot fit does not keep the program off the air")
        func refusedButLive() async throws {
            let disk = try await SmallDisk(megabytes: 50)
            let set = RecordingSet(directory: "\(disk.path)/recordings")
            let server = try await RTMPServer.running()
            let relay = try RelayProcess(
                Shape.small + ["--record", set.directory, "--disk-reserve", "1MB", "--rtmp", server.url()])
            try await server.hasReceived(bytes: 100_000, within: .seconds(15))
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(result.log.contains("recording refused"))
            #expect(set.finished.isEmpty && set.open.isEmpty)
            let frames = try await DecodedFrames(try await server.recording())
            #expect(frames.breaks.isEmpty)
            #expect(frames.counters.first == 0)
        }
    }
}
