// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension SerialRecordings {
    /// Recordings to two directories, of which one has a disk that is or becomes full, or that hangs.
    @Suite(
        "Recordings to two disks",
        .needs(SmallDisk.isPossible, "only root can mount a small disk, where it may mount at all"))
    struct SecondRecordingTests {
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        /// Fills a disk of 50 MB to the end, frees space, and decodes all files of both disks.
        @Test(
            "While one directory's disk is full, the other gets every frame; when there is space, both do again",
            arguments: ["first", "second"])
        func becomesFull(full: String) async throws {
            let (small, large) = (try await SmallDisk(megabytes: 50), try await SmallDisk(megabytes: 200))
            let ballast = "\(small.path)/ballast"
            // The space that is left is used up in about ten seconds. Deleting this file frees enough space for
            // recording to resume.
            try Data(count: 38_000_000).write(to: URL(fileURLWithPath: ballast))
            let set = RecordingSet(directory: "\(small.path)/recordings")
            let whole = RecordingSet(directory: "\(large.path)/recordings")
            let directories = full == "first" ? [set, whole] : [whole, set]
            let server = try await RTMPServer.running()
            let clip = try await Clip.noisy(seconds: 60, in: directory)
            let relay = try RelayProcess(
                ["--input", clip, "--preset", "ultrafast", "--video-bitrate", "8M", "--segment", "3s"]
                    + ["--expect", "2s", "--disk-reserve", "8MB", "--rtmp", server.url()]
                    + ["--record", directories[0].directory, "--record-also", directories[1].directory])
            try await relay.says("recording suspended", within: .seconds(40))
            try await eventually("the last file is closed", within: .seconds(5)) { set.open.isEmpty }
            let (before, meanwhile) = (set.finished.count, whole.finished.count)
            try await eventually("the other disk is recorded to", within: .seconds(15)) {
                whole.finished.count >= meanwhile + 2
            }
            #expect(set.finished.count == before && set.open.isEmpty)
            try FileManager.default.removeItem(atPath: ballast)
            try await eventually("recording resumes", within: .seconds(15)) { set.finished.count >= before + 2 }
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")

            let stream = try await DecodedFrames(try await server.recording())
            #expect(stream.breaks.isEmpty && stream.counters.first == 0)
            try await check(set, beginsAgainAt: before, against: stream, log: result.log)
            for path in whole.finished { #expect(try await Probe.complaints(path).isEmpty, "\(path)") }
            let recorded = try await whole.counters()
            #expect(DecodedFrames.breaks(in: recorded).isEmpty && whole.open.isEmpty)
            #expect(recorded.first == 0 && recorded.last == stream.counters.last)
        }

        /// Expects that `set` has every frame once up to file number `index`, and from there on.
        private func check(
            _ set: RecordingSet, beginsAgainAt index: Int, against stream: DecodedFrames, log: String
        ) async throws {
            for path in set.finished { #expect(try await Probe.complaints(path).isEmpty, "\(path)") }
            let files = try await set.frames()
            for (number, file) in files.enumerated() {
                let breaks = number == index - 1 ? file.breaksBeforeEnd : file.breaks
                #expect(breaks.isEmpty, "file \(number + 1)")
            }
            #expect(DecodedFrames.breaks(in: files.dropFirst(index).flatMap(\.counters)).isEmpty)
            let recorded = files.flatMap(\.counters).compactMap(\.self)
            #expect(Set(recorded).count == recorded.count && set.open.isEmpty)
            #expect(recorded.first == 0 && recorded.last == stream.counters.last)
            // The log contains the number of missing frames, and the directory in which they are missing.
            let missing = Set(stream.counters.compactMap(\.self)).subtracting(recorded).count
            let gaps = GapLine.all(in: log)
            #expect(gaps.map(\.frames) == [missing] && missing > 0, "\(missing): \(log)")
            let line = log.split(separator: "\n").first { $0.contains("gap in the recording: ") }
            #expect(line?.contains("directory=\(set.directory)") == true, "\(log)")
        }

        @Test("A second disk that is full does not keep the channel off air, and is recorded to when it has space")
        func fullAtStart() async throws {
            let disk = try await SmallDisk(megabytes: 20)
            let ballast = "\(disk.path)/ballast"
            try Data(count: 20_000_000).write(to: URL(fileURLWithPath: ballast))
            let set = RecordingSet(directory: "\(disk.path)/recordings")
            let first = RecordingSet(directory: directory.file("recordings"))
            let server = try await RTMPServer.running()
            let relay = try RelayProcess(
                Shape.small + ["--segment", "2s", "--expect", "2s", "--disk-reserve", "1MB", "--rtmp", server.url()]
                    + ["--record", first.directory, "--record-also", set.directory])
            try await relay.says("recording refused", within: .seconds(20))
            try await eventually("the first disk is recorded to", within: .seconds(20)) { first.finished.count >= 2 }
            #expect(set.finished.isEmpty && set.open.isEmpty)
            try FileManager.default.removeItem(atPath: ballast)
            // The guard asks every 30 s whether there is space to begin.
            try await eventually("the second disk, too", within: .seconds(60)) { set.finished.count >= 2 }
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(
                result.log.split(separator: "\n").contains {
                    $0.contains("recording refused") && $0.contains(disk.path)
                })
            let stream = try await DecodedFrames(try await server.recording())
            let (whole, late) = (try await first.counters(), try await set.counters())
            #expect(stream.breaks.isEmpty && DecodedFrames.breaks(in: whole).isEmpty && whole.first == 0)
            #expect(DecodedFrames.breaks(in: late).isEmpty)
            #expect(whole.last == stream.counters.last && late.last == stream.counters.last)
        }

        /// Starts a recording in `directories` with files of 2 s, which is also sent to `server`.
        private func relay(_ directories: [RecordingSet], _ server: RTMPServer) throws -> RelayProcess {
            try RelayProcess(
                Shape.small + ["--segment", "2s", "--expect", "2s", "--disk-reserve", "1MB", "--rtmp", server.url()]
                    + ["--record", directories[0].directory, "--record-also", directories[1].directory])
        }

        @Test(
            "A disk that hangs at the start keeps neither the channel off air nor the other directory from being used",
            .needs(FreezableDisk.isPossible, "only root can mount a loop device, where there are any"),
            arguments: ["first", "second"])
        func hangsAtStart(hung: String) async throws {
            let disk = try await FreezableDisk(megabytes: 100)
            let set = RecordingSet(directory: "\(disk.path)/recordings")
            let whole = RecordingSet(directory: directory.file("recordings"))
            let server = try await RTMPServer.running()
            try disk.freeze()
            defer { disk.thaw() }
            let relay = try relay(hung == "first" ? [set, whole] : [whole, set], server)
            try await eventually("the other directory is recorded to", within: .seconds(60)) {
                whole.finished.count >= 2
            }
            #expect(set.finished.isEmpty && set.open.isEmpty)
            disk.thaw()
            try await eventually("this directory is, too", within: .seconds(60)) { set.finished.count >= 2 }
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")
            let stream = try await DecodedFrames(try await server.recording())
            let (all, late) = (try await whole.counters(), try await set.counters())
            #expect(stream.breaks.isEmpty && DecodedFrames.breaks(in: all).isEmpty && all.first == 0)
            #expect(DecodedFrames.breaks(in: late).isEmpty)
            #expect(all.last == stream.counters.last && late.last == stream.counters.last)
        }

        @Test(
            "While one disk hangs, the other directory gets every frame, and relay's end does not wait for the disk",
            .needs(FreezableDisk.isPossible, "only root can mount a loop device, where there are any"),
            arguments: ["first", "second"])
        func hangsAtEnd(hung: String) async throws {
            let disk = try await FreezableDisk(megabytes: 100)
            let set = RecordingSet(directory: "\(disk.path)/recordings")
            let whole = RecordingSet(directory: directory.file("recordings"))
            let server = try await RTMPServer.running()
            let relay = try relay(hung == "first" ? [set, whole] : [whole, set], server)
            try await eventually("both directories are recorded to", within: .seconds(30)) {
                set.finished.count >= 1 && whole.finished.count >= 1
            }
            try disk.freeze()
            defer { disk.thaw() }
            let (before, meanwhile) = (set.finished.count, whole.finished.count)
            try await eventually("the other directory is recorded to", within: .seconds(30)) {
                whole.finished.count >= meanwhile + 3
            }
            #expect(set.finished.count <= before + 1, "the disk did stop")
            relay.process.signal(SIGINT)
            try await relay.says("not everything ended in time", within: .seconds(10))
            // The process can end only now: the kernel ends no process while one of its threads waits for a frozen
            // disk.
            disk.thaw()
            let result = try await relay.finished(within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")
            let stream = try await DecodedFrames(try await server.recording())
            let all = try await whole.counters()
            #expect(stream.breaks.isEmpty && DecodedFrames.breaks(in: all).isEmpty && whole.open.isEmpty)
            #expect(all.first == 0 && all.last == stream.counters.last)
        }

        @Test(
            "A program faster than real time continues while one disk hangs, and is recorded there again afterwards",
            .needs(FreezableDisk.isPossible, "only root can mount a loop device, where there are any"),
            arguments: ["first", "second"])
        func hangsUnpaced(hung: String) async throws {
            let disk = try await FreezableDisk(megabytes: 400)
            let set = RecordingSet(directory: "\(disk.path)/recordings")
            let whole = RecordingSet(directory: directory.file("recordings"))
            let directories = hung == "first" ? [set, whole] : [whole, set]
            let relay = try RelayProcess(
                Shape.small + ["--unpaced", "--segment", "2s", "--expect", "2s", "--disk-reserve", "1MB"]
                    + ["--record", directories[0].directory, "--record-also", directories[1].directory])
            try await eventually("both directories are recorded to", within: .seconds(30)) {
                set.finished.count >= 1 && whole.finished.count >= 1
            }
            try disk.freeze()
            defer { disk.thaw() }
            try await relay.says("continues without waiting for it", within: .seconds(30))
            let (before, meanwhile) = (set.finished.count, whole.finished.count)
            try await eventually("the other directory is recorded to", within: .seconds(30)) {
                whole.finished.count >= meanwhile + 3
            }
            #expect(set.finished.count == before, "the disk did stop")
            disk.thaw()
            try await relay.says("answers again", within: .seconds(30))
            try await eventually("this directory is, too", within: .seconds(30)) { set.finished.count >= before + 5 }
            let result = try await relay.end(by: SIGINT, within: .seconds(20))
            #expect(result.ending == .exited(0), "\(result.log)")
            // All frames of the time in which the disk hung were kept in memory.
            for set in [set, whole] {
                let counters = try await set.counters()
                #expect(counters.first == 0 && DecodedFrames.breaks(in: counters).isEmpty && set.open.isEmpty)
            }
        }

        @Test("A reload adds and removes a second directory while the first recording continues in its file")
        func reloaded() async throws {
            let first = RecordingSet(directory: directory.file("first"))
            let second = RecordingSet(directory: directory.file("second"))
            let path = directory.file("relay.yaml")
            let server = try await RTMPServer.running()
            let write = { (more: String) in
                let text = """
                    channels:
                      - name: one
                        encoder: {size: 320x180, preset: ultrafast, videoBitrate: 1M, frameRate: 30}
                        outputs: ["\(server.url())"]
                        recording: {directory: \(first.directory), expect: 1m\(more)}
                    """
                try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            }
            try write("")
            let relay = try RelayProcess(["--config", path])
            try await relay.says("segment opened", within: .seconds(20))
            try write(", also: \(second.directory)")
            relay.process.signal(SIGHUP)
            try await eventually("the second directory is recorded to", within: .seconds(30)) {
                second.open.first.map(fileSize) ?? 0 > 300_000
            }
            try write("")
            relay.process.signal(SIGHUP)
            try await eventually("the second recording is closed", within: .seconds(20)) {
                second.finished.count == 1 && second.open.isEmpty
            }
            let result = try await relay.end(by: SIGINT, within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")
            let (whole, part) = (try await first.frames(), try await second.frames())
            #expect(whole.count == 1 && whole[0].breaks.isEmpty && whole[0].counters.first == 0)
            #expect(part.count == 1 && part[0].breaksBeforeEnd.isEmpty && part[0].counters.count > 30)
            let (all, some) = (try #require(whole.first?.span), try #require(part.first?.span))
            #expect(all.contains(some.lowerBound) && all.contains(some.upperBound))
        }

        @Test("A second directory that lies in the first one behind a link is refused before anything is on air")
        func same() async throws {
            let first = directory.file("recordings")
            try FileManager.default.createDirectory(atPath: first, withIntermediateDirectories: false)
            let link = directory.file("link")
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: first)
            let result = try await RelayProcess.run(Shape.small + ["--record", first, "--record-also", "\(link)/more"])
            #expect(result.ending == .exited(64), "\(result.log)")
            #expect(result.log.contains("are the same directory, or one is in the other"), "\(result.log)")
            #expect(fileNames(in: first).isEmpty)
        }
    }
}
