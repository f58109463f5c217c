// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialRecordings {
    /// Disks that become full, or are too small from the beginning.
    @Suite(
        "Disk space of recordings",
        .needs(SmallDisk.isPossible, "only root can mount a small disk, where it may mount at all"))
    struct StorageTests {
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        /// Fills a disk of 50 MB, then frees space, and checks the recording and the output.
        @Test(
            "When the disk is full the outputs lose no frame, and recording resumes when space is free again",
            arguments: [("8MB", "suspended"), ("0B", "recording failed")])
        func becomesFull(reserve: String, sign: String) async throws {
            let disk = try await SmallDisk(megabytes: 50)
            let ballast = "\(disk.path)/ballast"
            // The remaining space is used up in about ten seconds. Recording resumes when this file is deleted.
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

            // The log contains the number of missing frames.
            let missing = Set(stream.counters.compactMap(\.self)).subtracting(recorded).count
            #expect(missing > 0)
            #expect(log.contains("gap in the recording: \(missing) frames"), "\(missing): \(log)")
        }

        @Test("A recording that fills its disk deletes its oldest files, and does not stop")
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
            "With --keep-free recording starts on a full disk after each restart, because old files may be deleted"
        )
        func restarts() async throws {
            let disk = try await SmallDisk(megabytes: 100)
            let set = RecordingSet(directory: "\(disk.path)/recordings")
            let clip = try await Clip.noisy(seconds: 30, in: directory)
            // 30 s take 31 MB, so 63 MB must be free at the start. Retention keeps only 56 MB free.
            for start in 1...4 {
                let before = set.finished
                let result = try await RelayProcess.run(
                    ["--input", clip, "--preset", "ultrafast", "--video-bitrate", "8M", "--segment", "2s", "--unpaced"]
                        + ["--duration", "30s", "--disk-reserve", "2MB", "--record", set.directory]
                        + ["--keep-free", "56MB", "--keep-min", "0s"])
                #expect(result.ending == .exited(0), "start \(start): \(result.log)")
                #expect(!Set(set.finished).subtracting(before).isEmpty, "start \(start)")
            }
        }

        @Test("On a disk smaller than a minute of recording, files are kept as long as there is space for them")
        func tiny() async throws {
            let disk = try await SmallDisk(megabytes: 42)
            let set = RecordingSet(directory: "\(disk.path)/recordings")
            let clip = try await Clip.noisy(seconds: 16, in: directory)
            let result = try await RelayProcess.run(
                ["--input", clip, "--preset", "ultrafast", "--video-bitrate", "8M", "--segment", "2s", "--unpaced"]
                    + ["--expect", "2s", "--disk-reserve", "6MB", "--record", set.directory]
                    + ["--keep-free", "12MB", "--keep-min", "0s"])
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(!result.log.contains("segment deleted"), "\(result.log)")
            #expect(set.finished.count >= 8)
        }

        @Test(
            "A memory card of 1 or 2 GB can be used with the default disk reserve, and its files are kept",
            arguments: [1000, 2000])
        func card(megabytes: Int) async throws {
            let disk = try await SmallDisk(megabytes: megabytes)
            let set = RecordingSet(directory: "\(disk.path)/recordings")
            let result = try await RelayProcess.run(
                Shape.small + ["--unpaced", "--duration", "20s", "--segment", "2s", "--record", set.directory]
                    + ["--keep-free", "10%", "--keep-min", "0s"])
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(!result.log.contains("segment deleted"), "\(result.log)")
            #expect(set.finished.count == 10)
        }

        @Test(
            "A recording that is too large for a small card is refused, and the message names the flags",
            arguments: [
                (["--keep-free", "90%", "--keep-min", "0s"], "--keep-free 90% leaves no room for one file"),
                (["--keep-free", "10%", "--segment", "1m"], "--keep-min 1h keeps about"),
                (
                    ["--keep-free", "10%", "--keep-min", "0s", "--segment", "1m", "--disk-reserve", "1GB"],
                    "--disk-reserve 1.0 GB leaves no room for one file"
                ),
            ])
        func cardNonsense(flags: [String], sentence: String) async throws {
            let disk = try await SmallDisk(megabytes: 1000)
            let result = try await RelayProcess.run(
                ["--size", "320x180", "--video-bitrate", "4M", "--record", "\(disk.path)/recordings"]
                    + ["--expect", "1s"] + flags)
            #expect(result.ending == .exited(64), "\(result.log)")
            #expect(result.log.contains(sentence), "\(result.log)")
        }

        @Test(
            "Contradictory or invalid retention flags are refused in one sentence",
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

        @Test("If a recording cannot fit and there is no other output, the error has the needed and the free space")
        func refused() async throws {
            let disk = try await SmallDisk(megabytes: 50)
            let result = try await RelayProcess.run(
                Shape.size + ["--record", "\(disk.path)/recordings", "--disk-reserve", "1MB"])
            #expect(result.ending == .exited(75), "\(result.log)")
            // The numbers are 2 × (1 Mbit/s + 160 kbit/s) × 3600 s × 1.02, and the free space.
            for number in ["1.0 GB", "1.16 Mbit/s", "1h", "52.4 MB", "short"] {
                #expect(result.log.contains(number), "\(number): \(result.log)")
            }
        }

        @Test("A recording that would use up the disk's reserve before its end is refused")
        func endsAtReserve() async throws {
            let disk = try await SmallDisk(megabytes: 50)
            // 10 s take 1.5 MB. 52.4 MB are free, but only 400 kB of them are not part of the reserve.
            let result = try await RelayProcess.run(
                Shape.size + ["--record", "\(disk.path)/recordings", "--expect", "10s", "--disk-reserve", "52MB"])
            #expect(result.ending == .exited(75), "\(result.log)")
            #expect(result.log.contains("52.0 MB that --disk-reserve keeps free"), "\(result.log)")
        }

        @Test("If a recording does not fit on the disk, the program still goes on air")
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
