// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialRecordings {
    /// `relay recordings`: its reports about real recordings after real faults.
    @Suite("relay recordings")
    struct RecordingsTests {
        /// The part of the output of `relay recordings … --json` that the tests check.
        private struct Report: Decodable {
            struct Missing: Decodable {
                let from: String
                let to: String?
                let frames: Int?
                let cause: String
            }
            struct Problem: Decodable {
                let file: String?
                let text: String
            }
            let segments: Int
            let frames: Int
            let missing: [Missing]
            let problems: [Problem]
        }
        private struct Listing: Decodable {
            struct Segment: Decodable {
                let name: String
                let run: String?
                let ending: String?
                let frames: Int
                let programStart: Int64
                let wholeEnd: Int64
            }
            struct Gap: Decodable {
                let run: String
                let fromPts: Int64
                let toPts: Int64?
                let frames: Int?
                let told: Bool
                let cause: String
            }
            let segments: [Segment]
            let gaps: [Gap]
        }

        private let directory: TemporaryDirectory
        private let set: RecordingSet

        init() throws {
            directory = try TemporaryDirectory()
            set = RecordingSet(directory: directory.file("recordings"))
        }

        private func relay(_ arguments: [String]) async throws -> (status: ChildProcess.Ending, output: String) {
            let relay = try RelayProcess(["recordings"] + arguments)
            return (try await relay.finished(within: .seconds(60)).ending, relay.process.output)
        }

        private func verify(_ set: RecordingSet, _ flags: [String] = []) async throws -> (Report, ChildProcess.Ending) {
            let (status, output) = try await relay(["verify", set.directory, "--json"] + flags)
            return (try JSONDecoder().decode(Report.self, from: Data(output.utf8)), status)
        }

        private func list(_ set: RecordingSet) async throws -> Listing {
            let (_, output) = try await relay(["list", set.directory, "--json"])
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            return try decoder.decode(Listing.self, from: Data(output.utf8))
        }

        @Test(
            "A recording without errors verifies as complete, with and without --deep, and after a rebuild")
        func whole() async throws {
            let result = try await RelayProcess.run(
                Shape.small + ["--record", set.directory, "--segment", "2s", "--duration", "7s"])
            #expect(result.ending == .exited(0), "\(result.log)")
            for flags in [[], ["--deep"]] {
                let (report, status) = try await verify(set, flags)
                #expect(status == .exited(0) && report.problems.isEmpty && report.missing.isEmpty, "\(report)")
                #expect(report.segments == 4 && report.frames == 210)
            }
            try FileManager.default.removeItem(atPath: set.directory + "/.relay.sqlite")
            #expect(try await relay(["rebuild", set.directory]).status == .exited(0))
            let text = try await relay(["verify", set.directory]).output
            #expect(text.split(separator: "\n").last == "4 segments, 0:00:07, no frame missing", "\(text)")
        }

        @Test("After kill -9 the files, the catalogue and verify agree on the recorded frames and the end of the run")
        func killed() async throws {
            let arguments = Shape.small + ["--record", set.directory, "--segment", "3s"]
            let relay = try RelayProcess(arguments)
            try await eventually("a file is finished and the next one grows", within: .seconds(30)) {
                set.finished.count == 1 && (set.open.first.map(fileSize) ?? 0) > 40_000
            }
            relay.process.signal(SIGKILL)
            try await relay.process.ending(within: .seconds(5))
            let (before, failing) = try await verify(set)
            #expect(failing == .exited(1))
            #expect(before.problems.map(\.file) == set.open.map { String($0.split(separator: "/").last ?? "") })

            let next = try await RelayProcess.run(arguments + ["--unpaced", "--duration", "4s"])
            #expect(next.ending == .exited(0), "\(next.log)")
            let (report, status) = try await verify(set, ["--deep"])
            #expect(report.problems.isEmpty && status == .exited(1), "\(report)")
            let listing = try await list(set)
            #expect(listing.segments.count == set.finished.count)
            var counted = 0
            for (segment, path) in zip(listing.segments, set.finished) {
                #expect(path.hasSuffix(segment.name))
                let counters = try await DecodedFrames(path).counters
                #expect(counters.count == segment.frames)
                counted += counters.count
            }
            #expect(report.frames == counted)
            let gap = try #require(listing.gaps.first)
            let last = try #require(listing.segments.last { $0.run == gap.run })
            #expect(listing.gaps.count == 1 && gap.fromPts == last.wholeEnd && gap.toPts == nil)
            #expect(last.ending == "recovered" && gap.cause.contains("killed"))
            #expect(report.missing.map(\.cause) == [gap.cause])
        }

        @Test(
            "A gap from a full disk is in the catalogue with its bounds, and verify finds the same gap in the files",
            .needs(SmallDisk.isPossible, "only root can mount a small disk, where it may mount at all"))
        func full() async throws {
            let disk = try await SmallDisk(megabytes: 30)
            let ballast = "\(disk.path)/ballast"
            try Data(count: 22_000_000).write(to: URL(fileURLWithPath: ballast))
            let set = RecordingSet(directory: "\(disk.path)/recordings")
            let clip = try await Clip.noisy(seconds: 60, in: directory)
            let relay = try RelayProcess(
                ["--input", clip, "--preset", "ultrafast", "--video-bitrate", "8M", "--segment", "3s"]
                    + ["--expect", "1s", "--disk-reserve", "0B", "--record", set.directory])
            try await relay.says("recording failed", within: .seconds(60))
            try await eventually("the last file is closed", within: .seconds(15)) { set.open.isEmpty }
            let before = set.finished.count
            try FileManager.default.removeItem(atPath: ballast)
            try await eventually("recording resumes", within: .seconds(30)) { set.finished.count >= before + 1 }
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")

            let listing = try await list(set)
            let told = listing.gaps.filter(\.told)
            let gap = try #require(told.first)
            #expect(told.count == 1 && listing.gaps.count == 1)
            #expect(listing.segments.map(\.name) == set.finished.map { String($0.split(separator: "/").last ?? "") })
            // The end of the file and the start of the gap are the time of one frame, rounded in different ways.
            #expect(abs(listing.segments[before - 1].wholeEnd - gap.fromPts) <= 1)
            #expect(listing.segments[before].programStart == gap.toPts)
            // The frames contain their numbers, so the missing frames can be counted.
            let files = try await set.frames().map { $0.counters.compactMap(\.self) }
            let span = Int(try #require(files[before].first)) - Int(try #require(files[before - 1].first))
            let missing = span - files[before - 1].count
            #expect(gap.frames == missing)
            let (report, status) = try await verify(set)
            #expect(report.problems.isEmpty && status == .exited(1), "\(report)")
            #expect(report.missing.map(\.frames) == [missing] && report.missing.first?.cause == gap.cause)
        }

        @Test("relay recordings reports an unusable directory or file in one sentence and by the exit status")
        func refused() async throws {
            for (arguments, status, text) in [
                (["list", directory.file("nowhere")], Int32(66), "There is no "),
                (["verify", directory.path], 66, "There are no recordings"),
                (["repair", "/etc/passwd"], 66, "is not a directory"),
                (["rebuild"], 64, "Missing expected argument"), (["polish"], 64, "polish"),
            ] {
                let result = try await RelayProcess.run(["recordings"] + arguments)
                #expect(result.ending == .exited(status), "\(arguments): \(result.log)")
                #expect(result.log.contains(text), "\(result.log)")
            }
        }

        @Test("relay recordings verify reports truncated but not foreign files, and repair makes a repaired copy")
        func foreign() async throws {
            let result = try await RelayProcess.run(
                Shape.small + ["--record", set.directory, "--segment", "2s", "--duration", "5s"])
            #expect(result.ending == .exited(0), "\(result.log)")
            let clip = try await Clip.noisy(seconds: 1, in: directory)
            try FileManager.default.copyItem(atPath: clip, toPath: set.directory + "/holiday.mp4")
            #expect(try await verify(set).1 == .exited(0))
            let cut = try #require(set.finished.first { !$0.hasSuffix("holiday.mp4") })
            let bytes = try #require(FileManager.default.contents(atPath: cut)).prefix(60_000)
            try bytes.write(to: URL(fileURLWithPath: cut))
            let (report, status) = try await verify(set)
            #expect(status == .exited(1) && !report.problems.isEmpty)
            #expect(try await relay(["repair", set.directory]).status == .exited(0))
            #expect(FileManager.default.contents(atPath: cut) == bytes)
            let copy = cut.dropLast(4) + ".repaired.mp4"
            #expect(try await Probe.complaints(String(copy)).isEmpty)
            #expect(try await DecodedFrames(String(copy)).breaksBeforeEnd.isEmpty)
        }
    }
}
