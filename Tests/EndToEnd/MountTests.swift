// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialRecordings {
    /// Disks that are mounted, swapped and unmounted while relay runs, or before it starts.
    @Suite(
        "Mounting of recording disks",
        .needs(SwappedDisks.isPossible, "only root can mount, and only below a directory of the root disk"))
    struct MountTests {
        private let disks: SwappedDisks
        private let state: TemporaryDirectory

        init() async throws {
            disks = try await SwappedDisks()
            state = try TemporaryDirectory()
        }

        private func relay(_ path: String, _ arguments: [String] = []) throws -> RelayProcess {
            try RelayProcess(
                Shape.small + ["--segment", "1s", "--expect", "1s", "--disk-reserve", "100kB", "--record", path]
                    + arguments, environment: ["XDG_STATE_HOME": state.path])
        }

        /// Waits until `set` contains two more finished files.
        private func records(_ set: RecordingSet, _ relay: RelayProcess) async throws {
            let before = set.finished.count
            do {
                try await eventually("two files are finished", within: .seconds(20)) {
                    set.finished.count >= before + 2
                }
            } catch {
                Issue.record("\(relay.process.errors)")
                throw error
            }
        }

        /// Ends relay, whose files are in `sets`. Expects that these files and the gaps in the log together contain
        /// each frame once.
        private func check(_ relay: RelayProcess, _ sets: RecordingSet...) async throws {
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")
            var recorded: [UInt32] = []
            for set in sets {
                #expect(set.open.isEmpty, "\(set.open) \(result.log)")
                for path in set.finished { #expect(try await Probe.complaints(path).isEmpty, "\(path)") }
                recorded += try await set.counters().compactMap(\.self)
            }
            let newest = try #require(recorded.max())
            #expect(Set(recorded).count == recorded.count, "a frame is recorded twice")
            let missing = Int(newest) + 1 - recorded.count
            let gaps = GapLine.all(in: result.log)
            #expect(missing == gaps.reduce(0) { $0 + $1.frames }, "\(missing): \(result.log)")
        }

        @Test(
            "A recording uses the directory under the mount point until the first mount, and then only mounted disks",
            arguments: ["", "/recordings"])
        func whileRecording(below: String) async throws {
            let under = RecordingSet(directory: disks.under + below)
            let (first, second) = (
                RecordingSet(directory: disks.first + below), RecordingSet(directory: disks.second + below)
            )
            let relay = try relay(disks.path + below)
            try await relay.says("segment opened", within: .seconds(20))
            // The disk is mounted a second after the start.
            try await eventually("something is recorded", within: .seconds(10)) { !under.finished.isEmpty }
            try disks.mount(disks.first)
            try await records(first, relay)
            let before = fileNames(in: under.directory)
            #expect(under.open.isEmpty)
            // Another disk is mounted in place of the first one.
            try disks.unmount()
            try disks.mount(disks.second)
            try await records(second, relay)
            // The disk is unmounted and mounted again, twice. The first time it is away for long enough that relay
            // notices it.
            try disks.unmount()
            try await relay.says("its disk is not mounted at \(disks.path)", within: .seconds(10))
            #expect(fileNames(in: under.directory) == before)
            try disks.mount(disks.second)
            try await records(second, relay)
            try disks.unmount()
            try disks.mount(disks.second)
            try await records(second, relay)
            #expect(fileNames(in: under.directory) == before, "nothing more lands below the mount point")
            try await check(relay, under, first, second)
            #expect(second.finished.count >= 6)
        }

        @Test("After a restart relay recognizes an empty mount point, and records when the disk is mounted")
        func remembered() async throws {
            let set = RecordingSet(directory: disks.first + "/recordings")
            try disks.mount(disks.first)
            let before = try relay(disks.path + "/recordings")
            try await records(set, before)
            try await check(before, set)
            try disks.unmount()
            try await startsLate([], set)
        }

        @Test("With --record-mount recording begins only when a disk is mounted, even at the first start")
        func required() async throws {
            try await startsLate(["--record-mount"], RecordingSet(directory: disks.first + "/recordings"))
        }

        private func startsLate(_ arguments: [String], _ set: RecordingSet) async throws {
            let old = Set(set.finished)
            let relay = try relay(disks.path + "/recordings", arguments)
            try await relay.says("recording waits for its disk", within: .seconds(20))
            #expect(fileNames(in: disks.under).isEmpty)
            try disks.mount(disks.first)
            try await records(set, relay)
            #expect(fileNames(in: disks.under).isEmpty)
            for path in old { try FileManager.default.removeItem(atPath: path) }
            try await check(relay, set)
        }
    }
}
