// SPDX-License-Identifier: Apache-2.0

internal import GRDB

/// Writes an entry of the upload ledger with GRDB.
private struct UploadRow: PersistableRecord {
    static let databaseTableName = "uploads"

    let entry: UploadEntry

    init(_ entry: UploadEntry) { self.entry = entry }

    func encode(to container: inout PersistenceContainer) {
        (container["channel"], container["name"], container["bytes"]) = (entry.channel, entry.name, entry.bytes)
        (container["sha256"], container["place"], container["time"]) = (entry.sha256, entry.place, entry.time)
        container["start"] = entry.start
    }
}

extension UploadEntry {
    /// The entry of a database row; nil if a cell is invalid. Such a row counts as missing.
    fileprivate init?(validating row: Row) {
        let cells = Cells(row: row)
        guard let channel = cells.text("channel"), let name = cells.path("name"),
            let bytes = cells.integer("bytes", in: Cells.count), let sha256 = cells.optional("sha256", cells.checksum),
            let place = cells.text("place"), let time = cells.integer("time", in: Cells.wallClock),
            let start = cells.optional("start", in: Cells.wallClock)
        else { return nil }
        self.init(channel: channel, name: name, bytes: bytes, sha256: sha256, place: place, time: time, start: start)
    }
}

/// The upload ledger: which files were uploaded to which place, and when. Its entries do not depend on the rows of
/// files, and stay when the files are deleted.
extension CatalogueStore {
    /// How many entries of each channel are kept. With files of half an hour, they cover more than five years. If there
    /// are more, those that were added first are removed.
    static let mostUploads = 100_000

    /// Stores that a file was uploaded: sets its upload state, and adds `entry` to the ledger with the checksum of the
    /// file, if that is known. Keeps the `most` entries of the channel that were added last, whatever their times: the
    /// clock can have been set back.
    func noteUploaded(_ entry: UploadEntry, keeping most: Int = mostUploads) throws(CatalogueFailure) {
        try write { database in
            try database.execute(
                sql: "UPDATE segments SET upload = ? WHERE name = ?",
                arguments: [UploadState.done.rawValue, entry.name])
            var entry = entry
            if entry.sha256 == nil {
                entry.sha256 = try String.fetchOne(
                    database,
                    sql: "SELECT sha256 FROM segments WHERE name = ?1 AND bytes = ?2 AND start = ifnull(?3, start)",
                    arguments: [entry.name, entry.bytes, entry.start])
            }
            // Pages of the ledger are requested by time, so no two entries of a channel may have the same time. The
            // entry gets the next time, in milliseconds, that no other entry has.
            while try Self.hasUpload(of: entry.channel, at: entry.time, database) { entry.time += 1 }
            try UploadRow(entry).insert(database)
            try database.execute(sql: Self.forgetFirstUploads, arguments: [entry.channel, most])
        }
    }

    private static func hasUpload(of channel: String, at time: Int64, _ database: Database) throws -> Bool {
        try Bool.fetchOne(
            database, sql: "SELECT EXISTS (SELECT 1 FROM uploads WHERE channel = ? AND time = ?)",
            arguments: [channel, time]) ?? false
    }

    /// Removes the entries of a channel that were added first, so that a given number of entries is left. Rows are
    /// numbered in the order in which they were added. Only the index of the primary key is read, which takes 13 ms
    /// with 100,000 entries.
    private static let forgetFirstUploads = """
        DELETE FROM uploads WHERE rowid IN (
            SELECT rowid FROM uploads WHERE channel = ?1 ORDER BY rowid
            LIMIT max(0, (SELECT count(*) FROM uploads WHERE channel = ?1) - ?2))
        """

    /// Returns the newest `limit` entries of `channel` whose times are in `range`, in milliseconds since 1970; the
    /// newest first. Empty if the database is from a version without a ledger.
    static func newestUploads(
        of channel: String, in range: Range<Int64>, limit: Int, _ database: Database
    ) throws -> [UploadEntry] {
        guard try database.hasTable("uploads") else { return [] }
        return try Row.fetchAll(
            database,
            sql: "SELECT * FROM uploads WHERE channel = ? AND time >= ? AND time < ? ORDER BY time DESC LIMIT \(limit)",
            arguments: [channel, range.lowerBound, range.upperBound]
        ).compactMap(UploadEntry.init(validating:))
    }

    /// Returns the channels that have entries, sorted. Reads an entry of each channel.
    static func uploadedChannels(_ database: Database) throws -> [String] {
        guard try database.hasTable("uploads") else { return [] }
        return try channels(in: "uploads WHERE true", database).sorted()
    }

    /// Returns the readable entries of a damaged database, in the order in which they were added.
    func salvagedUploadEntries() -> [UploadEntry] {
        let found = salvage { SalvagedRows(of: "uploads", key: ["channel", "time"], in: $0) }
        let numbered = (found?.rows ?? []).map { row in ((row["row_number"] as Int64?) ?? 0, row) }
        return numbered.sorted { $0.0 < $1.0 }.compactMap { UploadEntry(validating: $0.1) }
    }

    /// Adds the entries in `entries` that the ledger does not have, in their order.
    func restore(_ entries: [UploadEntry]) throws(CatalogueFailure) {
        try write { database in
            for entry in entries { try UploadRow(entry).insert(database, onConflict: .ignore) }
        }
    }
}
