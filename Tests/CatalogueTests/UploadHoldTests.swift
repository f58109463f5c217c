// SPDX-License-Identifier: Apache-2.0

import Archive
import Dispatch
import Foundation
import GRDB
import RecordingSamples
import Synchronization
import TestSupport
import Testing

@testable import Archive
@testable import Catalogue
@testable import Segmenter

/// Checks whether retention may delete a file that possibly waits for its upload.
@Suite struct UploadHoldTests {
    private let directory: TemporaryDirectory
    private let names: [String]
    private var database: String { directory.path(".relay.sqlite") }

    /// Makes five files. The second file waits for its upload.
    init() throws {
        directory = try Recording.make()
        names = directory.files
        let waiting = names[1]
        try DatabaseQueue(path: directory.path(".relay.sqlite")).write {
            try $0.execute(sql: "UPDATE segments SET upload = 'waiting' WHERE name = ?", arguments: [waiting])
        }
        try directory.write([], to: Catalogue.uploadLockName(of: "test"))
    }

    private func catalogue() throws -> Catalogue {
        Catalogue(directory: try .prepare(directory.path), channel: "test", logger: quiet)
    }

    @Test func `Before the catalogue is started, it is already known which files wait for their upload`() throws {
        let catalogue = try catalogue()
        #expect(names.map(catalogue.mayDelete) == [true, false, true, true, true])
        #expect(names.allSatisfy(catalogue.needsUpload))
    }

    @Test func `An upload state that this run recorded replaces the database's, until a new file has the name`() throws
    {
        let target = try RecordDirectory.prepare(directory.path)
        let hold = UploadHold(directory: target, channel: "test")
        #expect(!hold.isLoaded && hold.known.isEmpty)
        hold.load(["a": .waiting, "b": .done], of: target.generation)
        #expect(hold.isLoaded && hold.state(of: "a") == .waiting && hold.state(of: "c") == .some(nil))
        hold.note(.done, of: "a")
        hold.noteWaiting(["a", "c"])
        #expect(hold.known == ["a": .done, "b": .done, "c": .waiting] && hold.state(of: "a") == .done)
        // The rows of `a` and `b` are those of earlier files.
        for name in ["a", "b"] { hold.renew(name) }
        #expect(hold.known == ["c": .waiting])
        #expect(hold.state(of: "a") == .some(nil) && hold.state(of: "b") == .some(nil))
        // The row of the new file `b` is in the database, and that file waits.
        hold.load(.waiting, of: "b")
        #expect(hold.known == ["b": .waiting, "c": .waiting] && hold.state(of: "b") == .waiting)
    }

    @Test func `Upload states are read from the database once, and only those of the channel's own files`() throws {
        let target = try RecordDirectory.prepare(directory.path)
        let hold = UploadHold(directory: target, channel: "test")
        hold.loadOnce()
        #expect(hold.isLoaded && hold.known == [names[1]: .waiting])
        try DatabaseQueue(path: database).write { try $0.execute(sql: "UPDATE segments SET upload = 'done'") }
        hold.loadOnce()
        #expect(hold.state(of: names[1]) == .waiting)
        let other = UploadHold(directory: target, channel: "other")
        other.loadOnce()
        #expect(other.isLoaded && other.known.isEmpty)
    }

    @Test func `While the catalogue cannot be read, no file that may wait for its upload is deleted`() throws {
        try DatabaseQueue(path: database).write {
            try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('99: something from the future')")
        }
        let catalogue = try catalogue()
        catalogue.start()
        #expect(!names.contains(where: catalogue.mayDelete))
        catalogue.noteUpload(.done, of: names[0])
        #expect(catalogue.mayDelete(names[0]) && !catalogue.needsUpload(names[0]), "this run uploaded it")
    }

    // Regression: once this one file was unreadable, retention never deleted a recording again.
    @Test(arguments: [true, false])
    func `If the channel never uploaded a file, an unreadable catalogue does not prevent deletions`(isDirectory: Bool)
        throws
    {
        try FileManager.default.removeItem(atPath: directory.path(Catalogue.uploadLockName(of: "test")))
        if isDirectory {
            try FileManager.default.removeItem(atPath: database)
            try FileManager.default.createDirectory(atPath: database, withIntermediateDirectories: false)
        } else {
            try DatabaseQueue(path: database).write {
                try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('99: something from the future')")
            }
        }
        let catalogue = try catalogue()
        #expect(names.allSatisfy(catalogue.mayDelete))
        #expect(names.allSatisfy(catalogue.needsUpload), "what this run uploads still waits")
    }

    @Test
    func `Asking whether a file may be deleted does not wait for a scan of the archive on the catalogue's queue`()
        throws
    {
        let catalogue = try catalogue()
        let (release, answered) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        catalogue.uploads(besides: []) { _ in release.wait() }
        let answer = Mutex<[Bool]>([])
        DispatchQueue(label: "asks").async { [names] in
            let found = names.map(catalogue.mayDelete)
            answer.withLock { $0 = found }
            answered.signal()
        }
        #expect(answered.wait(timeout: .now() + .seconds(30)) == .success)
        release.signal()
        #expect(answer.withLock { $0.count } == names.count)
    }

    @Test func `The readable rows of a damaged catalogue still tell which files wait for their upload`() throws {
        // SQLite finds a value that the table's constraints do not allow, but can still read all rows.
        try DatabaseQueue(path: database).write { database in
            try database.execute(sql: "PRAGMA ignore_check_constraints = ON")
            try database.execute(
                sql: "UPDATE segments SET upload = 'something else' WHERE name = ?", arguments: [names[0]])
        }
        let catalogue = try catalogue()
        catalogue.start()
        catalogue.waitUntilIdle()
        #expect(FileManager.default.fileExists(atPath: database + ".broken-1"))
        // The state of the first file is unreadable, and may have been "waiting".
        #expect(names.map(catalogue.mayDelete) == [false, false, true, true, true])
        let next = try self.catalogue()
        #expect(names.map(next.mayDelete) == [false, false, true, true, true])
    }

    /// Marks the third file as uploaded.
    private func upload() throws {
        try DatabaseQueue(path: database).write {
            try $0.execute(sql: "UPDATE segments SET upload = 'done' WHERE name = ?", arguments: [names[2]])
        }
    }

    private func destroy() throws {
        try directory.write([UInt8]("this is no database, and never was one".utf8), to: ".relay.sqlite")
    }

    // Regression: `relay recordings rebuild` forgot which files were waiting, and the next run deleted these files.
    @Test
    func `If another process replaced an unreadable catalogue, all files count as waiting for their upload`() throws {
        try destroy()
        #expect(try RecordingArchive(directory.path).rebuild().setAside != nil)
        let catalogue = try catalogue()
        #expect(!names.contains(where: catalogue.mayDelete))
        catalogue.start()
        catalogue.waitUntilIdle()
        #expect(!names.contains(where: catalogue.mayDelete))
        let next = try self.catalogue()
        #expect(!names.contains(where: next.mayDelete))
        next.noteUpload(.done, of: names[0])
        next.waitUntilIdle()
        let last = try self.catalogue()
        #expect(names.map(last.mayDelete) == [true, false, false, false, false])
    }

    @Test func `If another process replaced a damaged catalogue, the readable upload states of the old one are kept`()
        throws
    {
        try upload()
        try DatabaseQueue(path: database).write { database in
            try database.execute(sql: "PRAGMA ignore_check_constraints = ON")
            try database.execute(
                sql: "UPDATE segments SET upload = 'something else' WHERE name = ?", arguments: [names[0]])
        }
        #expect(try RecordingArchive(directory.path).rebuild().setAside != nil)
        let catalogue = try catalogue()
        #expect(names.map(catalogue.mayDelete) == [false, false, true, true, true])
        #expect(names.map(catalogue.needsUpload) == [true, true, false, true, true])
    }

    // Regression: the row of such a file was removed, and its upload state was lost with it.
    @Test(arguments: [true, false])
    func `An unreadable file that waits for its upload still waits after the catalogue was rebuilt`(isDamaged: Bool)
        throws
    {
        try directory.write([UInt8]("something that is no recording any more".utf8), to: names[1])
        try directory.write([UInt8]("nor is this, which waits for nothing".utf8), to: names[3])
        if isDamaged {
            try DatabaseQueue(path: database).write { database in
                try database.execute(sql: "PRAGMA ignore_check_constraints = ON")
                try database.execute(
                    sql: "UPDATE segments SET upload = 'something else' WHERE name = ?", arguments: [names[0]])
            }
        }
        let rebuilding = try RecordingArchive(directory.path).rebuild()
        #expect((rebuilding.setAside != nil) == isDamaged && rebuilding.notes.count == 2)
        let segments = try RecordingArchive(directory.path).onDisk().segments
        #expect(segments.map(\.name) == [names[0], names[1], names[2], names[4]])
        #expect(
            segments.filter { $0.upload == .waiting }.map(\.name) == (isDamaged ? [names[0], names[1]] : [names[1]]))
        let catalogue = try catalogue()
        #expect(names.map(catalogue.mayDelete) == [!isDamaged, false, true, true, true])
    }

    // Regression: the new database had no upload states, and this overwrote the states that the run knew.
    @Test func `A run keeps the upload states that it knows when another process rebuilds the catalogue`() throws {
        try upload()
        let catalogue = try catalogue()
        catalogue.start()
        catalogue.waitUntilIdle()
        try destroy()
        _ = try RecordingArchive(directory.path).rebuild()
        catalogue.noteUpload(.done, of: names[3])
        catalogue.waitUntilIdle()
        #expect(names.map(catalogue.mayDelete) == [true, false, true, true, true])
        #expect(names.map(catalogue.needsUpload) == [true, true, false, false, true])
        let next = try self.catalogue()
        #expect(names.map(next.mayDelete) == [true, false, true, true, true])
        #expect(names.map(next.needsUpload) == [true, true, false, false, true])
    }

    // Regression: if a run was killed after it had set a damaged database aside and before it had written the new rows,
    // the waiting files were forgotten.
    @Test(arguments: [true, false])
    func `If relay is killed while it replaces a damaged catalogue, it still knows which files wait for upload`(
        isBegun: Bool
    ) throws {
        try FileManager.default.moveItem(atPath: database, toPath: database + ".broken-1")
        if isBegun {
            let store = try CatalogueStore(directory: directory.path)
            let facts = try SegmentReader.read(directory.path(names[0]))
            try store.put([CatalogueSegment(name: names[0], facts: facts)], living: [])
        }
        let catalogue = try catalogue()
        #expect(!names.contains(where: catalogue.mayDelete))
        catalogue.start()
        catalogue.waitUntilIdle()
        let next = try self.catalogue()
        #expect(!names.contains(where: next.mayDelete))
    }

    @Test func `A transport stream with an unknown upload state counts as waiting for its upload, too`() async throws {
        let directory = try Recording.make(format: .ts)
        try directory.write([], to: Catalogue.uploadLockName(of: "test"))
        try directory.write([UInt8]("this is no database".utf8), to: ".relay.sqlite")
        let catalogue = Catalogue(directory: try .prepare(directory.path), channel: "test", logger: quiet)
        catalogue.start()
        let backlog = await withCheckedContinuation { continuation in
            catalogue.uploads(besides: []) { continuation.resume(returning: $0) }
        }
        #expect(backlog?.files == directory.files.count && backlog?.next?.name == directory.files[0])
        let next = Catalogue(directory: try .prepare(directory.path), channel: "test", logger: quiet)
        #expect(!directory.files.contains(where: next.mayDelete))
    }

    // Regression: each time the database was opened again, files that another process had uploaded in the meantime were
    // queued again.
    @Test func `Upload states from an older catalogue do not queue files that were uploaded or given up`() throws {
        let store = try CatalogueStore(directory: directory.path)
        try store.setUploads([names[0]: .done, names[1]: .done, names[2]: .none])
        try store.setUploads([names[0]: .waiting, names[2]: .waiting, names[3]: .waiting])
        let expected: [String: UploadState] = [
            names[0]: .done, names[1]: .done, names[2]: .none, names[3]: .waiting,
        ]
        #expect(store.salvagedSegments(uploaded: []).uploads == expected)
    }

    // Regression: if names are used again, such as names that contain only the time of day, a new file counted as
    // uploaded because an earlier file of the same name was uploaded.
    @Test(arguments: [true, false])
    func `A new file waits for its upload although an earlier file of the same name was uploaded`(
        isSameRun: Bool
    ) async throws {
        let name = names[2]
        try upload()
        let catalogue = try catalogue()
        if isSameRun {
            catalogue.start()
            catalogue.noteUpload(.done, of: name)
            catalogue.waitUntilIdle()
        }
        #expect(catalogue.mayDelete(name) && !catalogue.needsUpload(name))
        try directory.write(SampleRecording(seconds: 1).closed, to: name)
        catalogue.segmentRecovered(fileName: name)
        #expect(catalogue.needsUpload(name))
        catalogue.waitUntilIdle()
        #expect(catalogue.needsUpload(name))
        let backlog = await backlog(of: catalogue)
        #expect(backlog?.files == names.count && !catalogue.mayDelete(name))
    }

    @Test func `A file that is reported to the catalogue again keeps its upload state`() throws {
        try upload()
        let catalogue = try catalogue()
        catalogue.start()
        catalogue.segmentRecovered(fileName: names[2])
        catalogue.waitUntilIdle()
        #expect(catalogue.mayDelete(names[2]) && !catalogue.needsUpload(names[2]))
    }

    private func backlog(of catalogue: Catalogue) async -> UploadBacklog? {
        await withCheckedContinuation { continuation in
            catalogue.uploads(besides: []) { continuation.resume(returning: $0) }
        }
    }

    /// The ways in which a database can be lost while it is in use.
    enum Loss: CaseIterable {
        /// The database is deleted.
        case deleted
        /// The database is deleted while it is being opened. SQLite then creates an empty file, which may have the same
        /// inode number.
        case emptied
        /// The database is deleted, and another process creates a new one with the same inode number.
        case replaced
    }

    private func lose(_ loss: Loss, in directory: TemporaryDirectory) throws {
        let path = directory.path(".relay.sqlite")
        switch loss {
        case .deleted: try FileManager.default.removeItem(atPath: path)
        case .emptied: #expect(truncate(path, 0) == 0)
        case .replaced:
            let other = try TemporaryDirectory()
            _ = try CatalogueStore(directory: other.path)
            try UploadMark.setAll(in: directory.path)
            let file = try #require(FileHandle(forWritingAtPath: path))
            try file.truncate(atOffset: 0)
            try file.write(contentsOf: Data(contentsOf: URL(fileURLWithPath: other.path(".relay.sqlite"))))
            try file.close()
        }
    }

    // Regression: files that a run had queued only in the database were forgotten together with the database. A waiting
    // stream was then never uploaded, and an uploaded one could never be deleted.
    @Test(arguments: [RecordFormat.ts, .hybrid], Loss.allCases)
    func `If the catalogue is deleted or replaced, the run still knows which files it queued or uploaded`(
        format: RecordFormat, loss: Loss
    ) async throws {
        let directory = try TemporaryDirectory()
        try directory.write([], to: Catalogue.uploadLockName(of: "test"))
        let recording = try Recording(in: directory, format: format)
        recording.record(225)
        recording.recorder.waitForCloser()
        let catalogue = recording.catalogue
        let before = try #require(await backlog(of: catalogue))
        let first = try #require(before.next?.name)
        #expect(before.files >= 3 && !catalogue.mayDelete(first))
        catalogue.noteUpload(.done, of: first)
        // A checksum that was stored while the database is being replaced would damage the new one.
        _ = try await eventually("all checksums are stored") {
            (try? CatalogueStore(reading: directory.path).unhashed(channel: "test").isEmpty) == true
        }
        catalogue.waitUntilIdle()
        try lose(loss, in: directory)
        let after = await backlog(of: catalogue)
        #expect(after?.files == before.files - 1 && after?.next?.name != first)
        #expect(catalogue.mayDelete(first) && !catalogue.needsUpload(first))
        recording.finish()
        let next = Catalogue(directory: try .prepare(directory.path), channel: "test", logger: quiet)
        #expect(next.mayDelete(first) && !next.needsUpload(first), "what is uploaded stays deletable")
        #expect(directory.files.filter { $0 != first && next.mayDelete($0) }.count <= 1, "all but the newest wait")
    }

    @Test(arguments: [true, false])
    func `After the catalogue became unreadable, all files wait for upload, but only if the channel ever uploaded`(
        wasUploaded: Bool
    ) throws {
        if !wasUploaded {
            try FileManager.default.removeItem(atPath: directory.path(Catalogue.uploadLockName(of: "test")))
        }
        try directory.write([UInt8]("this is no database, and never was one".utf8), to: ".relay.sqlite")
        let catalogue = try catalogue()
        catalogue.start()
        catalogue.waitUntilIdle()
        #expect(names.allSatisfy { catalogue.mayDelete($0) == !wasUploaded })
        let next = try self.catalogue()
        #expect(names.allSatisfy { next.mayDelete($0) == !wasUploaded })
    }
}
