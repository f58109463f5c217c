// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import GRDB
import Media
import Synchronization
import TestSupport
import Testing

@testable import Archive
@testable import Catalogue
@testable import Segmenter

@Suite struct CatalogueTests {
    @Test
    func `Every recorded file and every gap has a row in the catalogue, and the rows agree with the files`() throws {
        let directory = try Recording.make(hasGap: true)
        let ledger = try RecordingArchive(directory.path).onDisk()
        let (segments, gaps) = (ledger.segments, ledger.gaps)
        #expect(segments.map(\.name) == directory.files)
        let gap = try #require(gaps.first)
        #expect(gaps.count == 1 && gap.isTold && gap.cause == "no room")
        #expect(segments.reduce(0) { $0 + $1.frames } + (gap.frames ?? 0) == 225)
        for (number, segment) in segments.enumerated() {
            #expect(segment.sequence == number + 1 && segment.channel == "test" && segment.run == gap.run)
            #expect(segment.duration == Int64(segment.frames) * 40_000_000)
            #expect(segment.programEnd == (segment.programStart ?? 0) + .nanoseconds(segment.duration))
            #expect(segment.lastPts == (segment.programEnd ?? 0) - .milliseconds(40))
            #expect(segment.bytes == Int64(try directory.bytes(segment.name).count))
            if segment.ending == .rotate {
                #expect(abs(segment.audioSamples - Int64(segment.frames) * 1920) <= 1024)
            }
        }
        #expect(segments.first { $0.programStart == gap.to } != nil)
        #expect(segments.first { $0.programEnd == gap.from }?.ending == .disk)
        #expect(segments.last?.ending == .stop && segments.first?.ending == .rotate)
    }

    @Test func `Files get their checksums although the catalogue was written before it was started`() throws {
        let directory = try Recording.make()
        try DatabaseQueue(path: directory.path(".relay.sqlite")).write {
            try $0.execute(sql: "UPDATE segments SET sha256 = NULL")
        }
        let catalogue = Catalogue(directory: try .prepare(directory.path), channel: "test", logger: quiet)
        catalogue.directoryChanged()
        catalogue.waitUntilIdle()
        catalogue.start()
        try eventually("all checksums are stored") {
            try CatalogueStore(reading: directory.path).unhashed(channel: "test").isEmpty
        }
    }

    @Test func `A transport stream gets its checksum in the run in which its row was made again`() throws {
        let directory = try Recording.make(format: .ts)
        try directory.write([], to: Catalogue.uploadLockName(of: "test"))
        try FileManager.default.removeItem(atPath: directory.path(".relay.sqlite"))
        let catalogue = Catalogue(directory: try .prepare(directory.path), channel: "test", logger: quiet)
        catalogue.start()
        catalogue.waitUntilIdle()
        #expect(try RecordingArchive(directory.path).onDisk().segments.map(\.name) == directory.files)
        try eventually("all checksums are stored") {
            try CatalogueStore(reading: directory.path).unhashed(channel: "test").isEmpty
        }
    }

    // A recorder and `relay recordings rebuild` may both find that the database is missing, and create it.
    @Test func `Several processes can create the catalogue's tables at the same time`() throws {
        for _ in 0..<100 {
            let directory = try TemporaryDirectory()
            let failures = Mutex<[String]>([])
            DispatchQueue.concurrentPerform(iterations: 8) { _ in
                do throws(CatalogueFailure) {
                    _ = try CatalogueStore(directory: directory.path).segments()
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
            #expect(failures.withLock { $0 } == [])
        }
    }

    @Test func `A catalogue that another process is converting to a new version does not count as damaged`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path(".relay.sqlite")
        let (other, ours) = (try DatabaseQueue(path: path), try DatabaseQueue(path: path))
        try CatalogueSchema.migrator.migrate(other, upTo: "1: segments and gaps")
        #expect(try ours.read(CatalogueStore.incompleteTable) == nil)
        try CatalogueSchema.migrator.migrate(other)
        #expect(try ours.read(CatalogueStore.incompleteTable) == nil)
    }

    @Test func `A catalogue rebuilt from the files has the same files and gaps as the recorder's catalogue`() throws {
        let directory = try Recording.make(hasGap: true)
        let archive = try RecordingArchive(directory.path)
        let live = try archive.onDisk()
        try FileManager.default.removeItem(atPath: directory.path(".relay.sqlite"))
        for companion in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: directory.path(".relay.sqlite\(companion)"))
        }
        let result = try archive.rebuild()
        #expect(result.segments == live.segments.count && result.gaps == 1 && result.setAside == nil)
        let made = try archive.onDisk()
        let withoutSums = live.segments.map { segment in
            var segment = segment
            segment.sha256 = nil
            return segment
        }
        #expect(made.segments == withoutSums)
        let (old, new) = (try #require(live.gaps.first), try #require(made.gaps.first))
        #expect((new.from, new.to, new.frames, new.run) == (old.from, old.to, old.frames, old.run))
        #expect(!new.isTold && old.isTold)
        // A second rebuild changes nothing, and keeps the values that only the catalogue has.
        _ = try archive.rebuild()
        #expect(try archive.onDisk().segments == made.segments)
    }

    @Test func `A damaged catalogue is set aside and rebuilt from the files while recording continues`() throws {
        for damage in [Data("this is no database, and never was one".utf8), Data(count: 8192)] {
            let directory = try Recording.make()
            let first = try RecordingArchive(directory.path).onDisk().segments
            for companion in ["-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: directory.path(".relay.sqlite\(companion)"))
            }
            try damage.write(to: URL(fileURLWithPath: directory.path(".relay.sqlite")))
            let next = try Recording(in: directory)
            next.record(100)
            next.finish()
            let rows = try RecordingArchive(directory.path).onDisk().segments
            #expect(rows.map(\.name) == directory.files)
            #expect(rows.count == first.count + 2)
            #expect(try Data(contentsOf: URL(fileURLWithPath: directory.path(".relay.sqlite.broken-1"))) == damage)
        }
    }

    @Test(arguments: CatalogueSchema.tables.map(\.name))
    func `A catalogue that lacks one of its tables is set aside and rebuilt from the files`(table: String) throws {
        let directory = try Recording.make()
        try DatabaseQueue(path: directory.path(".relay.sqlite")).write { try $0.execute(sql: "DROP TABLE \(table)") }
        let next = try Recording(in: directory)
        next.record(100)
        next.finish()
        #expect(directory.all.contains(".relay.sqlite.broken-1"))
        #expect(try RecordingArchive(directory.path).onDisk().segments.map(\.name) == directory.files)
    }

    @Test func `Damage behind the first page of the catalogue's database is detected`() throws {
        let directory = try Recording.make()
        var bytes = try directory.bytes(".relay.sqlite")
        try #require(bytes.count > 8192)
        for index in 4096..<bytes.count { bytes[index] = 0xA5 }
        for companion in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: directory.path(".relay.sqlite\(companion)"))
        }
        try directory.write(bytes, to: ".relay.sqlite")
        let archive = try RecordingArchive(directory.path)
        // The contents then come from the files, so that even a user without write permission gets them.
        let contents = try archive.contents()
        #expect(contents.segments.map(\.name) == directory.files)
        #expect(try archive.rebuild().setAside == ".relay.sqlite.broken-1")
        #expect(try archive.verify(.init()).isGood)
    }

    @Test func `A catalogue from a newer version of relay is not changed`() throws {
        let directory = try Recording.make()
        try DatabaseQueue(path: directory.path(".relay.sqlite")).write {
            try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('99: something from the future')")
        }
        let before = try RecordingArchive(directory.path)
        #expect(throws: ArchiveFailure.self) { try before.rebuild() }
        let next = try Recording(in: directory)
        next.record(100)
        next.finish()
        #expect(!FileManager.default.fileExists(atPath: directory.path(".relay.sqlite.broken-1")))
        #expect(try before.contents().segments.map(\.name) == directory.files)
    }

    @Test func `If the catalogue cannot be created, recording still loses no frame`() throws {
        let directory = try TemporaryDirectory()
        // A directory at the database's path prevents SQLite from opening or creating the database, even for root.
        try FileManager.default.createDirectory(
            atPath: directory.path(".relay.sqlite"), withIntermediateDirectories: true)
        let recording = try Recording(in: directory)
        recording.record(225)
        recording.finish()
        #expect(recording.recorder.status.framesWritten == 225)
        #expect(directory.files.count == 5)
    }

    @Test func `The catalogue's database is open only during writes, so that its disk can be unmounted`() throws {
        let directory = try TemporaryDirectory()
        let recording = try Recording(in: directory)
        recording.record(225)
        recording.recorder.waitForCloser()
        // Each checksum is stored when it is computed.
        let archive = try RecordingArchive(directory.path)
        try eventually {
            let segments = try archive.onDisk().segments
            return segments.count == 4 && segments.allSatisfy { $0.sha256 != nil }
        }
        recording.catalogue.waitUntilIdle()
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        }
        #expect(open.contains { $0.hasPrefix(directory.path) }, "the file being written")
        #expect(!open.contains { $0.hasPrefix(directory.path(".relay.sqlite")) })
        recording.finish()
    }

    @Test func `Reading the catalogue's database leaves no other file beside it`() throws {
        let directory = try Recording.make()
        func all() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() }
        let before = try all()
        #expect(before.contains(".relay.sqlite") && !before.contains(".relay.sqlite-wal"))
        #expect(try RecordingArchive(directory.path).verify(.init()).isGood)
        _ = try RecordingArchive(directory.path).contents()
        #expect(try all() == before)
    }

    @Test func `A catalogue that was deleted is created again`() throws {
        let directory = try TemporaryDirectory()
        let recording = try Recording(in: directory)
        recording.record(150)
        recording.recorder.waitForCloser()
        recording.catalogue.waitUntilIdle()
        try FileManager.default.removeItem(atPath: directory.path(".relay.sqlite"))
        recording.finish()
        #expect(try RecordingArchive(directory.path).onDisk().segments.map(\.name) == directory.files)
    }

    @Test func `Several channels can share a record directory and a catalogue`() throws {
        let directory = try TemporaryDirectory()
        let recordings = try ["one", "two"].map { try Recording(in: directory, channel: $0) }
        for recording in recordings { recording.record(225) }
        for recording in recordings { recording.finish() }
        let segments = try RecordingArchive(directory.path).onDisk().segments
        #expect(segments.map(\.name) == directory.files)
        #expect(Set(segments.map(\.channel)) == ["one", "two"])
        #expect(Set(segments.map(\.run)).count == 2)
        #expect(try RecordingArchive(directory.path).verify(.init()).isGood)
    }

    @Test func `A file deleted by retention causes no gap, and its row is kept while older files exist`() throws {
        let directory = try Recording.make()
        let files = directory.files
        let next = Catalogue(directory: try .prepare(directory.path), channel: "test", logger: quiet)
        func delete(_ name: String) throws {
            try FileManager.default.removeItem(atPath: directory.path(name))
            next.segmentDeleted(fileName: name)
            next.waitUntilIdle()
        }
        next.start()
        try delete(files[1])
        let archive = try RecordingArchive(directory.path)
        let report = try archive.verify(.init())
        #expect(report.isGood, "\(report.lines)")
        #expect(try archive.contents().gaps.isEmpty)
        #expect(try archive.rebuild().segments == 4)
        #expect(try archive.verify(.init()).isGood)
        #expect(try archive.ledger()?.deleted.map(\.name) == [files[1]])
        try delete(files[0])
        #expect(try archive.verify(.init()).isGood)
        #expect(try archive.ledger()?.deleted.isEmpty == true)
    }

    @Test
    func `The catalogue of a fragmented recording states how each file ended, and the recording verifies as complete`()
        throws
    {
        let directory = try Recording.make(format: .fragmented)
        let archive = try RecordingArchive(directory.path)
        let report = try archive.verify(.init())
        #expect(report.isGood && report.segments == 5, "\(report.lines)")
        #expect(try archive.onDisk().segments.compactMap(\.ending) == [.rotate, .rotate, .rotate, .rotate, .stop])
        #expect(try archive.repair().isEmpty)
    }

    @Test func `A file's checksum is computed after the file is closed, or else at the next start`() throws {
        let directory = try Recording.make()
        let archive = try RecordingArchive(directory.path)
        let next = Catalogue(directory: try .prepare(directory.path), channel: "test", logger: quiet)
        next.start()
        try eventually { try archive.onDisk().segments.allSatisfy { $0.sha256 != nil } }
        for segment in try archive.onDisk().segments {
            let sum = try #require(try Shell.run("sha256sum", directory.path(segment.name)).split(separator: " ").first)
            #expect(segment.sha256 == String(sum))
        }
        next.segmentDeleted(fileName: directory.files[0])
        next.waitUntilIdle()
        #expect(try archive.onDisk().segments.map(\.name) == Array(directory.files.dropFirst()))
    }

    @Test func `A symbolic link in place of the catalogue is not followed, and recording continues`() throws {
        let (directory, elsewhere) = (try TemporaryDirectory(), try TemporaryDirectory())
        try FileManager.default.createSymbolicLink(
            atPath: directory.path(".relay.sqlite"), withDestinationPath: elsewhere.path("database"))
        let recording = try Recording(in: directory)
        recording.record(225)
        recording.finish()
        #expect(recording.recorder.status.framesWritten == 225)
        #expect(elsewhere.files.isEmpty)
    }

    // With CI=true the test also runs without root, and then fails, because a skipped test would show nothing.
    @Test(
        .enabled(
            if: geteuid() == 0 || ProcessInfo.processInfo.environment["CI"] == "true", "only root gives files away"))
    func `A catalogue created by root is given to the directory's owner, unless it has another hard link`() throws {
        let directory = try TemporaryDirectory()
        let (path, link) = (directory.path(".relay.sqlite"), directory.path("link"))
        try #require(chown(directory.path, 12345, 12345) == 0)
        func owner() throws -> Int? { try FileManager.default.attributesOfItem(atPath: path)[.ownerAccountID] as? Int }
        _ = try CatalogueStore(directory: directory.path)
        #expect(try owner() == 12345)
        try #require(chown(path, 0, 0) == 0)
        try FileManager.default.linkItem(atPath: path, toPath: link)
        _ = try CatalogueStore(directory: directory.path)
        #expect(try owner() == 0)
        try FileManager.default.removeItem(atPath: link)
        _ = try CatalogueStore(directory: directory.path)
        #expect(try owner() == 12345)
    }

    @Test func `A file that waits for its upload is not deleted, even in a run without uploads`() async throws {
        let directory = try Recording.make()
        let target = try RecordDirectory.prepare(directory.path)
        let names = try RecordingArchive(directory.path).onDisk().segments.map(\.name)
        let first = Catalogue(directory: target, channel: "test", logger: quiet)
        first.start()
        #expect(names.allSatisfy { first.needsUpload($0) && first.mayDelete($0) })
        let backlog = await withCheckedContinuation { answer in
            first.uploads(besides: []) { answer.resume(returning: $0) }
        }
        #expect(backlog?.files == names.count)
        first.noteUpload(.done, of: names[0])
        #expect(!first.needsUpload(names[0]))
        await withCheckedContinuation { ended in first.finish { ended.resume() } }

        let next = Catalogue(directory: target, channel: "test", logger: quiet)
        next.start()
        #expect(names.map(next.mayDelete) == [true] + names.dropFirst().map { _ in false })
    }
}
