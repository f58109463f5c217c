// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialRecordings {
    /// The contents and names of the files of a recording, and when a file ends.
    @Suite("Recordings")
    struct RecordingTests {
        private let directory: TemporaryDirectory
        private let set: RecordingSet

        init() throws {
            directory = try TemporaryDirectory()
            set = RecordingSet(directory: directory.file("recordings"))
        }

        @Test(
            "If a disk does not respond for 10 s, the recording still loses no frame",
            .needs(FreezableDisk.isPossible, "only root can mount a loop device, where there are any"))
        func stalledDisk() async throws {
            let disk = try await FreezableDisk(megabytes: 200)
            let set = RecordingSet(directory: "\(disk.path)/recordings")
            let clip = try await Clip.noisy(seconds: 40, in: directory)
            let server = try await RTMPServer.running()
            let relay = try RelayProcess(
                ["--input", clip, "--preset", "ultrafast", "--video-bitrate", "4M", "--record", set.directory]
                    + ["--segment", "3s", "--sync", "fragment", "--disk-reserve", "10MB", "--expect", "5s"]
                    + ["--rtmp", server.url()])
            try await eventually("a file is finished", within: .seconds(30)) { set.finished.count >= 1 }
            let before = set.finished.count
            try disk.freeze()
            defer { disk.thaw() }
            // The test needs a fault of this length: for this time, the program must be kept in memory.
            try await server.receives(.seconds(10))
            #expect(set.finished.count <= before + 1, "the disk did stop")
            disk.thaw()
            try await eventually("recording goes on", within: .seconds(30)) { set.finished.count >= before + 5 }
            let result = try await relay.end(by: SIGINT, within: .seconds(20))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(result.log.contains("0 frames in 0 gaps, writes: half within"), "\(result.log)")
            let counters = try await set.counters()
            #expect(DecodedFrames.breaks(in: counters).isEmpty)
            #expect(counters.first == 0)
            for path in set.finished { #expect(try await Probe.complaints(path).isEmpty, "\(path)") }
        }

        @Test(
            "The signal that splits a recording begins a new file at once, and no frame is lost between the two files"
        )
        func cutOnDemand() async throws {
            let relay = try RelayProcess(Shape.small + ["--record", set.directory, "--disk-reserve", "10MB"])
            try await eventually("a file is open", within: .seconds(20)) { set.open.count == 1 }
            for count in 1...2 {
                try await eventually("something is in it", within: .seconds(20)) {
                    set.open.first.map(fileSize) ?? 0 > 50_000
                }
                relay.process.signal(SIGUSR1)
                try await eventually("file \(count) is finished", within: .seconds(20)) { set.finished.count == count }
                try await eventually("the next is open", within: .seconds(20)) { set.open.count == 1 }
            }
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(set.finished.count == 3)
            let counters = try await set.counters()
            #expect(DecodedFrames.breaks(in: counters).isEmpty)
            #expect(counters.first == 0)
        }

        @Test("Each recording file begins when the wall clock shows a multiple of the file length")
        func clockAligned() async throws {
            let result = try await RelayProcess.run(
                Shape.small + ["--record", set.directory, "--segment", "2s", "--segment-align", "clock"]
                    + ["--record-name", "{start}", "--duration", "9s", "--disk-reserve", "10MB"])
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(set.finished.count >= 4)
            #expect(DecodedFrames.breaks(in: try await set.counters()).isEmpty)
            // In a name such as `20261121T140310.123Z`, the second must be even, and the milliseconds less than two
            // frames.
            for path in set.finished.dropFirst() {
                let name = path.suffix(24)
                let second = try #require(Int(name.dropFirst(13).prefix(2)))
                let millisecond = try #require(Int(name.dropFirst(16).prefix(3)))
                #expect(second % 2 == 0 && millisecond < 67, "\(path)")
            }
        }

        @Test(
            "A recording in each format can be played, and has every frame once",
            arguments: ["hybrid", "fragmented", "ts"])
        func formats(format: String) async throws {
            let result = try await RelayProcess.run(
                Shape.small + ["--record", set.directory, "--segment", "2s", "--record-format", format]
                    + ["--record-name", "%Y/{date}/{channel}-{sequence}", "--timezone", "Europe/Berlin"]
                    + ["--unpaced", "--duration", "7s", "--disk-reserve", "10MB"])
            #expect(result.ending == .exited(0), "\(result.log)")
            let year = try #require(fileNames(in: set.directory).first { !$0.hasPrefix(".") })
            let day = try #require(fileNames(in: "\(set.directory)/\(year)").first)
            #expect(day.hasPrefix(year + "-"))
            let folder = "\(set.directory)/\(year)/\(day)"
            let suffix = format == "ts" ? "ts" : "mp4"
            #expect(fileNames(in: folder) == (1...4).map { "relay-00000\($0).\(suffix)" })
            var counters: [UInt32?] = []
            for name in fileNames(in: folder) {
                counters += try await DecodedFrames("\(folder)/\(name)").counters
                #expect(try await Probe.complaints("\(folder)/\(name)").isEmpty, "\(name)")
            }
            #expect(counters == (0..<210).map { $0 })
        }
    }
}
