// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialRecordings {
    /// Tests of failing disks, and of other file systems that are mounted over a disk. In each test the stream loses
    /// nothing, and recording resumes by itself when the fault is over.
    @Suite("Disk faults", .needs(LoopDisk.isPossible, "only root can mount loop devices, where it may at all"))
    struct DiskFaultTests {
        /// A relay that records to `path`, and whose output is live.
        private struct Run {
            let relay: RelayProcess
            let server: RTMPServer
            let set: RecordingSet

            init(recordingTo path: String, _ arguments: [String] = []) async throws {
                set = RecordingSet(directory: path)
                server = try await RTMPServer.running()
                relay = try RelayProcess(
                    Shape.small + ["--segment", "2s", "--expect", "1s", "--disk-reserve", "100kB", "--record", path]
                        + ["--rtmp", server.url()] + arguments)
                let files = set
                try await eventually("a file is finished", within: .seconds(20)) { !files.finished.isEmpty }
            }

            /// How many files were begun.
            var openings: Int { relay.process.errors.components(separatedBy: "segment opened").count - 1 }

            /// Waits until another file was begun.
            func resumes(after openings: Int) async throws {
                do {
                    try await eventually("recording goes on", within: .seconds(5)) { self.openings > openings }
                } catch {
                    Issue.record("\(relay.process.errors)")
                    throw error
                }
            }

            /// Waits for more recorded files, ends relay, and compares the recording with the stream and with the gaps
            /// in the log.
            func check(gaps: ClosedRange<Int>) async throws {
                let before = set.finished.count
                try await eventually("more is recorded", within: .seconds(15)) { set.finished.count >= before + 2 }
                let result = try await relay.end(by: SIGINT, within: .seconds(10))
                #expect(result.ending == .exited(0), "\(result.log)")
                #expect(set.open.isEmpty, "\(set.open) \(result.log)")
                let stream = try await DecodedFrames(try await server.recording())
                #expect(stream.breaks.isEmpty)
                #expect(stream.counters.first == 0)
                for path in set.finished { #expect(try await Probe.complaints(path).isEmpty, "\(path)") }
                let recorded = try await set.counters().compactMap(\.self)
                #expect(Set(recorded).count == recorded.count, "a frame is recorded twice")
                #expect(recorded.last == stream.counters.last)
                let missing = Set(stream.counters.compactMap(\.self)).subtracting(recorded).sorted()
                let lines = GapLine.all(in: result.log)
                #expect(gaps.contains(lines.count), "\(result.log)")
                #expect(missing.count == lines.reduce(0) { $0 + $1.frames }, "\(missing.count): \(lines)")
                // Frame n is shown at n / 30 seconds.
                let inGaps = missing.filter { number in
                    lines.contains { ($0.from..<$0.to).contains(Int64(number) * 1_000_000_000 / 30 + 1000) }
                }
                #expect(inGaps == missing, "\(lines)")
                for line in lines {
                    let first = missing.first { Int64($0) * 1_000_000_000 / 30 + 1000 >= line.from }
                    #expect(first.map { Int64($0) * 1_000_000_000 / 30 - line.from }.map(abs) ?? .max < 1000, "\(line)")
                    #expect(missing.contains(UInt32((line.to + 1000) * 30 / 1_000_000_000) - 1), "\(line)")
                }
            }
        }

        @Test("A recording directory that was removed is used again when it exists again")
        func directoryRemoved() async throws {
            let disk = try await SmallDisk(megabytes: 50)
            let path = "\(disk.path)/recordings"
            let trial = try await Run(recordingTo: path)
            try FileManager.default.removeItem(atPath: path)
            try await trial.relay.says("storage stopped the recording", within: .seconds(5))
            #expect(!FileManager.default.fileExists(atPath: path))
            let openings = trial.openings
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            try await trial.resumes(after: openings)
            // The files that were recorded before were deleted with the directory, so only the new files can be
            // compared.
            let result = try await trial.relay.end(by: SIGINT, within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(GapLine.all(in: result.log).count == 1)
            let stream = try await DecodedFrames(try await trial.server.recording())
            #expect(stream.breaks.isEmpty && stream.counters.first == 0)
            let recorded = try await trial.set.counters()
            #expect(DecodedFrames.breaks(in: recorded).isEmpty && recorded.last == stream.counters.last)
            let gap = try #require(GapLine.all(in: result.log).first)
            #expect(try #require(recorded.first ?? nil) == UInt32((gap.to + 1000) * 30 / 1_000_000_000))
        }

        @Test(
            "After its disk is unmounted, recording leaves the directory underneath unused, and resumes with the disk"
        )
        func unmounted() async throws {
            let disk = try await LoopDisk.ext4(megabytes: 100, memory: 60, options: "sync")
            let trial = try await Run(recordingTo: disk.path)
            let device = try disk.device
            try await disk.unmount()
            try await trial.relay.says("its disk is not mounted at \(disk.path)", within: .seconds(5))
            try await trial.server.receives(.seconds(3))
            #expect(fileNames(in: disk.path).isEmpty)
            // When the disk is mounted again, it has another device number, because a third disk has taken its number.
            try await eventually("the device is free", within: .seconds(5)) {
                !FileManager.default.fileExists(atPath: "/sys/block/\(device)/loop/backing_file")
            }
            let third = try await LoopDisk.ext4(megabytes: 10, memory: 20, options: "sync")
            let openings = trial.openings
            try await disk.mount()
            #expect(try disk.device != device)
            try await trial.resumes(after: openings)
            try await trial.check(gaps: 1...1)
            withExtendedLifetime(third) {}
        }

        @Test(
            "A recording closes its files on a file system that becomes read-only, and resumes after a new mount"
        )
        func becomesReadOnly() async throws {
            let disk = try await LoopDisk.ext4(megabytes: 100, memory: 60, options: "sync,errors=remount-ro")
            let trial = try await Run(recordingTo: disk.path)
            let trigger = "/sys/fs/ext4/\(try disk.device)/trigger_fs_error"
            try Data("a test".utf8).write(to: URL(fileURLWithPath: trigger))
            try await trial.relay.says("Read-only file system", within: .seconds(5))
            // relay keeps no file on the disk open, so the disk can be unmounted and repaired.
            try await eventually("the disk can be unmounted", within: .seconds(5)) { umount2(disk.path, 0) == 0 }
            let openings = trial.openings
            try await disk.mount()
            try await trial.resumes(after: openings)
            try await trial.check(gaps: 1...1)
        }

        /// Without `sync`, the data that the system had not written before the failure is lost, which is also a gap.
        @Test(
            "A recording closes its files on a disk with I/O errors, and uses the disk again when it works",
            arguments: [("sync", 1...1), ("commit=1", 1...2)])
        func inputOutputError(options: String, gaps: ClosedRange<Int>) async throws {
            let disk = try await LoopDisk(
                megabytes: 100, memory: 60, make: ["mkfs.ext4", "-q"], options: options)
            let trial = try await Run(recordingTo: disk.path)
            try disk.fail()
            try await trial.relay.says("Input/output error", within: .seconds(5))
            try await eventually("the disk can be unmounted", within: .seconds(5)) { umount2(disk.path, 0) == 0 }
            let openings = trial.openings
            try await disk.mount()
            try await trial.resumes(after: openings)
            try await trial.check(gaps: gaps)
        }

        @Test("A disk that has less space than it reports is used again once it really has space")
        func thinlyProvisioned() async throws {
            let disk = try await LoopDisk.ext4(megabytes: 300, memory: 60, options: "sync,errors=continue")
            let trial = try await Run(recordingTo: disk.path)
            // The memory that holds the disk's blocks is full, but the file system does not know this.
            let ballast = "\(disk.memoryPath)/ballast"
            let filling = try ChildProcess("dd", ["if=/dev/zero", "of=\(ballast)", "bs=64k"])
            try await filling.ending(within: .seconds(20))
            try await trial.relay.says("No space left on device", within: .seconds(10))
            // In these two seconds, relay's attempts to record again fail.
            try await trial.server.receives(.seconds(2))
            let openings = trial.openings
            try FileManager.default.removeItem(atPath: ballast)
            try await trial.resumes(after: openings)
            // The system may have accepted a fragment that the disk then refused. Such a fragment exists only in
            // memory; it is not recorded, and is a gap of its own.
            try await trial.check(gaps: 1...2)
        }

        @Test(
            "An exhausted quota has the same effect on a recording as a full disk",
            .needs((try? Tools.path(of: "mkfs.btrfs")) != nil, "mkfs.btrfs is not installed"))
        func quota() async throws {
            let disk = try await LoopDisk(
                megabytes: 150, memory: 150, make: ["mkfs.btrfs", "-q"], options: "commit=300")
            let path = "\(disk.path)/recordings"
            try await run("btrfs", ["quota", "enable", disk.path])
            try await run("btrfs", ["subvolume", "create", path])
            try await run("btrfs", ["qgroup", "limit", "700K", path])
            let trial = try await Run(recordingTo: path)
            // Renaming a closed file may fail before a write fails, which loses no frame.
            try await trial.relay.says("recording failed", within: .seconds(40))
            try await trial.server.receives(.seconds(2))
            let openings = trial.openings
            try await run("btrfs", ["qgroup", "limit", "none", path])
            try await trial.resumes(after: openings)
            try await trial.check(gaps: 1...1)
        }

        @Test("A recording on a disk that hangs for ten seconds loses no frame")
        func hangs() async throws {
            let disk = try await LoopDisk.ext4(megabytes: 100, memory: 60, options: "sync")
            let trial = try await Run(recordingTo: disk.path)
            try await run("fsfreeze", ["--freeze", disk.path])
            let thaw = Thaw(path: disk.path)
            let before = trial.set.finished.count
            // The test needs a fault of this length: for this time, the program must be kept in memory.
            try await trial.server.receives(.seconds(10))
            #expect(trial.set.finished.count <= before + 1, "the disk did stop")
            thaw.now()
            try await trial.check(gaps: 0...0)
        }
    }
}

/// Thaws a frozen file system, even if a test fails. Until then, no process that waits for the file system can end.
private final class Thaw: Sendable {
    private let path: String

    init(path: String) { self.path = path }

    func now() {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["fsfreeze", "--unfreeze", path]
        process.standardError = FileHandle.nullDevice
        try? process.run()
        process.waitUntilExit()
    }

    deinit { now() }
}
