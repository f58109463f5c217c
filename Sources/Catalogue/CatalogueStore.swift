// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import GRDB
internal import Glibc
internal import Synchronization

/// The SQLite database of a directory of recordings; it owns the connection. Every call can block on the disk. While
/// another process writes, a call can block for up to 5 s.
final class CatalogueStore: Sendable {
    /// The database's name in the directory of the recordings.
    static let fileName = RecordDirectory.catalogueName

    private let database: DatabaseQueue
    /// The path of the database; a description if it is in memory.
    let path: String
    /// The file's device and inode number; empty for a database in memory.
    let identity: [UInt64]
    /// Whether the database was already checked before it was opened, and therefore was not checked again.
    let wasChecked: Bool
    /// The number of scenes that were added, by channel.
    let scenes = Mutex<[String: Int]>([:])

    /// Opens the directory's database, or creates it if it is missing. In a new database it is unknown which files were
    /// uploaded, and ``UploadMark`` records that before the database has tables. Checks that the database is intact,
    /// unless its ``identity`` is still `checked`.
    init(directory: String, checked: [UInt64] = []) throws(CatalogueFailure) {
        path = "\(directory)/\(Self.fileName)"
        var info = stat()
        if lstat(path, &info) == 0, info.st_mode & S_IFMT == S_IFLNK {
            // A symbolic link is refused, because SQLite would follow it out of the directory. With such a link, the
            // directory's owner could make a recorder that runs as root write to another file.
            throw CatalogueFailure.failed("\(path) is a symbolic link, which is not followed")
        }
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.label = "relay.catalogue"
        configuration.prepareDatabase { database in
            // The journal mode is not WAL, because WAL maps a file into memory. If a quota or a full disk refuses a
            // page of that file, a signal ends the process together with the stream (seen on btrfs).
            _ = try String.fetchOne(database, sql: "PRAGMA journal_mode = DELETE")
        }
        do {
            database = try DatabaseQueue(path: path, configuration: configuration)
            // The identity is read after opening: if the file is deleted just before, SQLite creates another one, which
            // can have the same inode number.
            let isKnown = !checked.isEmpty && Self.identity(path) == checked
            wasChecked = try isKnown && database.read(Self.hasTables)
            if !wasChecked { try Self.prepare(database, path, of: directory) }
        } catch {
            throw CatalogueFailure("open", path, error)
        }
        identity = Self.identity(path)
        giveToOwner(of: directory)
    }

    /// Opens the directory's existing database for reading only. The user of this process must nevertheless be allowed
    /// to write to the database. Otherwise SQLite could not remove its own files beside the database, and the recorder
    /// could not open the database if these files belong to another user.
    init(reading directory: String) throws(CatalogueFailure) {
        path = "\(directory)/\(Self.fileName)"
        wasChecked = false
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        do {
            database = try DatabaseQueue(path: path, configuration: configuration)
            if try Self.isNewer(database) {
                throw CatalogueFailure.newer("\(path) was made by a newer version of relay")
            }
        } catch {
            throw CatalogueFailure("open", path, error)
        }
        identity = Self.identity(path)
    }

    /// Opens the damaged database at `path` in order to read the rows that are still readable.
    init(salvaging path: String) throws(CatalogueFailure) {
        self.path = path
        wasChecked = false
        do {
            database = try DatabaseQueue(path: path)
        } catch {
            throw CatalogueFailure("open", path, error)
        }
        identity = Self.identity(path)
    }

    /// A catalogue in memory, for a directory that cannot or must not be written.
    init() throws(CatalogueFailure) {
        path = "the catalogue in memory"
        identity = []
        wasChecked = false
        do {
            database = try DatabaseQueue()
            try Self.prepare(database, path, of: nil)
        } catch {
            throw CatalogueFailure("make", path, error)
        }
    }

    /// Checks that a database is intact, and creates missing tables. `directory` contains the database; nil for a
    /// database in memory.
    private static func prepare(_ database: DatabaseQueue, _ path: String, of directory: String?) throws {
        if try isNewer(database) {
            throw CatalogueFailure.newer("\(path) was made by a newer version of relay; it is left alone")
        }
        let verdict = try database.read { try String.fetchOne($0, sql: "PRAGMA quick_check(1)") }
        guard verdict == "ok" else { throw CatalogueFailure.damaged("\(path) is damaged: \(verdict ?? "no answer")") }
        if let table = try database.read(incompleteTable) {
            throw CatalogueFailure.damaged("\(path) is damaged: the table \(table) lacks rows")
        }
        if let directory, try !database.read(hasTables) {
            do throws(FileFailure) {
                try UploadMark.setAll(in: directory)
            } catch {
                throw CatalogueFailure.failed("\(path) cannot be made: \(error)")
            }
        }
        try besideOthers { try CatalogueSchema.migrator.migrate(database) }
    }

    private static func hasTables(_ database: Database) throws -> Bool { try database.hasTable("segments") }

    private static func isNewer(_ database: DatabaseQueue) throws -> Bool {
        try besideOthers { try database.read(CatalogueSchema.migrator.hasBeenSuperseded) }
    }

    /// Runs `body`, and runs it again if another process created some of the tables in the meantime. Before each
    /// repetition the other process has completed at least one more migration, so the number of migrations limits the
    /// number of repetitions.
    private static func besideOthers<T>(_ body: () throws -> T) throws -> T {
        for _ in CatalogueSchema.migrator.migrations {
            do {
                return try body()
            } catch let error as DatabaseError
                where [.SQLITE_ERROR, .SQLITE_CONSTRAINT].contains(error.resultCode)
            {
                continue
            }
        }
        return try body()
    }

    private static func identity(_ path: String) -> [UInt64] {
        var info = stat()
        return stat(path, &info) == 0 ? [UInt64(info.st_dev), UInt64(info.st_ino)] : []
    }

    /// If root has created the database for a user, gives it to the directory's owner, because the user who records
    /// here needs it.
    private func giveToOwner(of directory: String) {
        var owner = stat()
        guard geteuid() == 0, stat(directory, &owner) == 0 else { return }
        // Uses fstat and fchownat on one descriptor to avoid a rename race. The descriptor is opened with O_PATH,
        // because closing any other descriptor of the file would give up SQLite's locks (fcntl(2)).
        let file = Glibc.open(path, Self.onlyPath | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { return }
        defer { close(file) }
        var info = stat()
        // A file with a second hard link stays as it is, because it can belong to another user.
        guard fstat(file, &info) == 0, info.st_mode & S_IFMT == S_IFREG, info.st_nlink == 1 else { return }
        fchownat(file, "", owner.st_uid, owner.st_gid, Self.emptyPath)
    }

    /// `O_PATH` and `AT_EMPTY_PATH` from `fcntl.h`, which are not in Swift's module (asm-generic/fcntl.h,
    /// linux/fcntl.h).
    private static let (onlyPath, emptyPath): (CInt, CInt) = (0o10000000, 0x1000)

    /// Whether the tables exist: a reader can open the database while they are being created.
    func hasTables() throws(CatalogueFailure) -> Bool { try read(Self.hasTables) }

    func write<T>(_ body: (Database) throws -> T) throws(CatalogueFailure) -> T {
        do {
            return try database.write(body)
        } catch {
            throw CatalogueFailure("write to", path, error)
        }
    }

    /// Returns the result of `body`; nil if `body` throws. The result is also returned if the transaction fails at its
    /// end because a page could not be read.
    func salvage<T>(_ body: (Database) throws -> T) -> T? {
        var result: T?
        try? database.read { result = try body($0) }
        return result
    }

    func read<T>(_ body: (Database) throws -> T) throws(CatalogueFailure) -> T {
        do {
            return try database.read(body)
        } catch {
            throw CatalogueFailure("read", path, error)
        }
    }
}

// MARK: Rows

extension CatalogueStore {
    /// Returns all segments sorted by time, except deleted ones.
    func segments() throws(CatalogueFailure) -> [CatalogueSegment] { try segments("deleted IS NULL") }

    /// Returns the rows of deleted segments. They are kept while an older segment of the same run remains.
    func deletedSegments() throws(CatalogueFailure) -> [CatalogueSegment] { try segments("deleted IS NOT NULL") }

    private func segments(_ condition: String) throws(CatalogueFailure) -> [CatalogueSegment] {
        try read { try Self.segments(condition, [], by: "channel, start, name", $0) }
    }

    /// Returns the segments that meet `condition`, except those in invalid rows.
    /// `index` is the index to use, if SQLite would take another one that does not fit the condition as closely.
    static func segments(
        _ condition: String, _ arguments: StatementArguments, by order: String, index: String? = nil,
        _ database: Database
    ) throws -> [CatalogueSegment] {
        let table = index.map { "segments INDEXED BY \($0)" } ?? "segments"
        return try Row.fetchAll(
            database, sql: "SELECT * FROM \(table) WHERE \(condition) ORDER BY \(order)", arguments: arguments
        ).compactMap(CatalogueSegment.init(validating:))
    }

    static func gaps(
        _ condition: String, _ arguments: StatementArguments, _ database: Database
    ) throws -> [CatalogueGap] {
        try Row.fetchAll(
            database, sql: "SELECT * FROM gaps WHERE \(condition) ORDER BY channel, start, from_pts",
            arguments: arguments
        ).compactMap(CatalogueGap.init(validating:))
    }

    /// Returns all gaps sorted by time.
    func gaps() throws(CatalogueFailure) -> [CatalogueGap] { try read { try Self.gaps("true", [], $0) } }

    /// Returns the names of the segments of `channel` without a checksum.
    func unhashed(channel: String) throws(CatalogueFailure) -> [String] {
        try read {
            try Self.segments(
                "sha256 IS NULL AND deleted IS NULL AND channel = ?", [channel], by: "start",
                index: "segments_unhashed", $0
            ).map(\.name)
        }
    }

    /// Returns the number of rows with an invalid cell.
    func damagedRows() throws(CatalogueFailure) -> Int {
        try read { database in
            try Row.fetchAll(database, sql: "SELECT * FROM segments").count { CatalogueSegment(validating: $0) == nil }
                + Row.fetchAll(database, sql: "SELECT * FROM gaps").count { CatalogueGap(validating: $0) == nil }
        }
    }

    /// Removes the rows with an invalid cell, and returns their readable upload states by file name. `uploaded`
    /// contains the channels that ever uploaded.
    func removeDamagedRows(uploaded: Set<String>) throws(CatalogueFailure) -> [String: UploadState] {
        guard try damagedRows() > 0 else { return [:] }
        return try write { database in
            var uploads: [String: UploadState] = [:]
            for row in try Row.fetchAll(database, sql: "SELECT rowid AS place, * FROM segments")
            where CatalogueSegment(validating: row) == nil {
                if let (name, state) = CatalogueSegment.upload(in: row, uploaded: uploaded) { uploads[name] = state }
                try database.execute(
                    sql: "DELETE FROM segments WHERE rowid = ?", arguments: [row["place"] as DatabaseValue?])
            }
            for row in try Row.fetchAll(database, sql: "SELECT rowid AS place, * FROM gaps")
            where CatalogueGap(validating: row) == nil {
                try database.execute(
                    sql: "DELETE FROM gaps WHERE rowid = ?", arguments: [row["place"] as DatabaseValue?])
            }
            return uploads
        }
    }

    /// Adds or updates segments. The checksum and the upload state of a file that has not changed are kept. The runs in
    /// `living` continue. A caller that adds many files passes `andFindGaps: false`, and calls ``findGaps(living:)`` at
    /// the end.
    func put(
        _ segments: [CatalogueSegment], living: Set<String>, andFindGaps: Bool = true
    ) throws(CatalogueFailure) {
        try write { database in
            var runs: Set<String> = []
            for segment in segments {
                var segment = segment
                let known = try Self.segments("name = ?", [segment.name], by: "name", database).first
                if let old = known, old.isSameFile(as: segment) {
                    segment.sha256 = old.sha256
                    segment.upload = segment.upload ?? old.upload
                    segment.ending = segment.ending ?? old.ending
                }
                if let rest = known?.rest(besides: segment) { try SegmentRow(rest).save(database) }
                let last = try known == nil && andFindGaps ? Self.last(before: segment, living, database) : nil
                try SegmentRow(segment).save(database)
                if let last { try Self.findGap(from: last, to: segment, living, database) }
                if last == nil, andFindGaps, let run = segment.run { runs.insert(run) }
            }
            try Self.findGaps(of: runs, living, database)
        }
    }

    /// Returns all events, for each channel in the order in which they were reported, regardless of their times; empty
    /// if the database is from a version without events.
    func events() throws(CatalogueFailure) -> [CatalogueEvent] {
        try read { database in
            guard try database.hasTable("events") else { return [] }
            return try Row.fetchAll(database, sql: "SELECT * FROM events ORDER BY channel, rowid")
                .compactMap(CatalogueEvent.init(validating:))
        }
    }

    /// Removes segments whose files no longer exist. Known gaps stay; a removed file does not cause a new gap.
    func remove(_ names: some Sequence<String>) throws(CatalogueFailure) {
        try write { database in
            for name in names { _ = try SegmentRow.deleteOne(database, key: name) }
        }
    }

    /// Stores the checksum of the file `name`, which has `bytes` bytes, in its row and in its entries of the upload
    /// ledger. Entries of an earlier file of this name are not changed: that file had another start. The times of uploads
    /// tell files apart only in entries of earlier versions, because the clock can have been set since the file began, and
    /// if only the end of the file is known (``CatalogueSegment/init(file:channel:upload:)``): an upload of this file
    /// was complete after its end, and an upload of an earlier file before that.
    func setChecksum(_ sha256: String, of name: String, bytes: Int64) throws(CatalogueFailure) {
        try write {
            try $0.execute(
                sql: "UPDATE segments SET sha256 = ? WHERE name = ? AND bytes = ?", arguments: [sha256, name, bytes])
            try $0.execute(
                sql: """
                    UPDATE uploads SET sha256 = ?1 WHERE name = ?2 AND bytes = ?3 AND sha256 IS NULL
                        AND (CASE WHEN start IS NULL
                            THEN time >= ifnull((SELECT start FROM segments WHERE name = ?2), time)
                            ELSE start = ifnull((SELECT start FROM segments WHERE name = ?2), start) END
                        OR EXISTS (
                            SELECT 1 FROM segments AS file WHERE file.name = ?2 AND file.program_start IS NULL
                                AND file.duration = 0 AND file.start BETWEEN uploads.start AND uploads.time))
                    """, arguments: [sha256, name, bytes])
        }
    }
}

// MARK: Events

extension CatalogueStore {
    /// How many events of each channel and kind, except scenes, are kept. If there are more, the oldest are removed.
    static let mostEvents = 10_000
    /// The maximum number of scenes of each channel: one scene every five seconds for two months. Up to this limit,
    /// scenes are kept as long as files from their time exist.
    private static let mostScenes = 1_000_000
    /// How many new scenes are added between two counts of all scenes. Counting is rare, because counting many scenes
    /// takes a while.
    private static let countsEach = 256

    /// Adds an event; removes events beyond the limit, and scenes without remaining files.
    func put(_ event: CatalogueEvent) throws(CatalogueFailure) {
        try write { database in
            try EventRow(event).insert(database)
            let isScene = event.kind == SceneEvent.kind
            if isScene {
                try database.execute(sql: Self.forgetScenes, arguments: [event.channel, event.channel, event.channel])
            }
            guard !isScene || isCounting(event.channel) else { return }
            try database.execute(
                sql: Self.forgetOldestEvents,
                arguments: [
                    event.channel, event.kind, event.channel, event.kind, isScene ? Self.mostScenes : Self.mostEvents,
                ])
        }
    }

    /// Whether the scenes of `channel` must be counted now.
    private func isCounting(_ channel: String) -> Bool {
        scenes.withLock { scenes in
            let before = scenes[channel, default: 0]
            scenes[channel] = before + 1
            return before.isMultiple(of: Self.countsEach)
        }
    }

    private static let forgetOldestEvents = """
        DELETE FROM events WHERE channel = ? AND kind = ? AND rowid <= (
            SELECT rowid FROM events WHERE channel = ? AND kind = ? ORDER BY rowid DESC LIMIT 1 OFFSET ?)
        """

    /// Deletes the scenes from before the oldest file. The last of these scenes is kept, because it was on air when the
    /// file began.
    private static let forgetScenes = """
        DELETE FROM events WHERE channel = ? AND kind = 'scene' AND start < (
            SELECT max(start) FROM events WHERE channel = ? AND kind = 'scene' AND start <= (
                SELECT min(start) FROM segments WHERE channel = ? AND deleted IS NULL))
        """
}
