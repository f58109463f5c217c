// SPDX-License-Identifier: Apache-2.0

internal import GRDB

/// The readable clips of all channels.
struct SalvagedClips {
    var clips: [CatalogueClip] = []
    /// The numbers of the rows from which no clip can be read.
    var damagedRows: [Int64] = []
    /// Whether all rows of the table of clips were found.
    var hasAllRows = false

    /// Whether all clips were found.
    var isWhole: Bool { hasAllRows && damagedRows.isEmpty }
}

/// The readable part of the segments.
struct SalvagedSegments {
    /// Valid rows, except those of deleted files.
    var segments: [CatalogueSegment] = []
    /// Upload states by file name, including those from rows that are otherwise invalid.
    var uploads: [String: UploadState] = [:]
    /// Whether all rows of the table of segments were found.
    var isWhole = false
}

extension CatalogueStore {
    /// Returns the readable clips.
    func salvagedClips() -> SalvagedClips { salvage(Self.salvagedClips) ?? SalvagedClips() }

    private static func salvagedClips(_ database: Database) throws -> SalvagedClips {
        guard try database.hasTable("clips") else {
            // If the database is from a version without clips, no clip is missing.
            return SalvagedClips(hasAllRows: try !CatalogueSchema.missingTables(database).contains("clips"))
        }
        let found = SalvagedRows(of: "clips", key: ["channel", "id"], in: database)
        var salvage = SalvagedClips(hasAllRows: found.isWhole)
        for row in found.rows {
            if let clip = CatalogueClip(validating: row) {
                salvage.clips.append(clip)
            } else if let place = row["row_number"] as Int64? {
                salvage.damagedRows.append(place)
            }
        }
        return salvage
    }

    /// Returns the readable segments for which `isOurs` returns true. `isOurs` gets the name and the channel.
    /// `uploaded` contains the channels that ever uploaded.
    func salvagedSegments(
        uploaded: Set<String>, where isOurs: (_ name: String, _ channel: String?) -> Bool = { _, _ in true }
    ) -> SalvagedSegments {
        let found = salvage { SalvagedRows(of: "segments", key: ["name"], in: $0) }
        guard let found else { return SalvagedSegments() }
        var salvage = SalvagedSegments(isWhole: found.isWhole)
        for row in found.rows {
            let cells = Cells(row: row)
            guard cells.isNull("deleted"), let name = cells.path("name"), isOurs(name, cells.text("channel")) else {
                continue
            }
            salvage.uploads[name] = CatalogueSegment.upload(in: row, uploaded: uploaded)?.state
            if let segment = CatalogueSegment(validating: row) { salvage.segments.append(segment) }
        }
        return salvage
    }

    /// Checks the tables. Returns the name of the first one that is missing, or that lacks rows according to its index
    /// (segments, clips); nil if there is no such table. SQLite's quick check does not compare tables with their
    /// indexes. The rows of the other tables are not compared, because no file depends on them.
    static func incompleteTable(_ database: Database) throws -> String? {
        guard try database.hasTable("grdb_migrations") else { return nil }
        if let missing = try CatalogueSchema.missingTables(database).first { return missing }
        if try database.hasTable("segments"), !SalvagedRows(of: "segments", key: ["name"], in: database).isWhole {
            return "segments"
        }
        return try salvagedClips(database).hasAllRows ? nil : "clips"
    }

    /// Adds the clips in `clips` that the database does not have, and returns their number.
    func restore(_ clips: [CatalogueClip]) throws(CatalogueFailure) -> Int {
        try write { database in
            let known = Set(try Self.salvagedClips(database).clips.map { [$0.channel, $0.id] })
            let lacking = clips.filter { !known.contains([$0.channel, $0.id]) }
            for clip in lacking { try Self.put(clip, database) }
            return lacking.count
        }
    }

    /// Removes the clips in the rows with these numbers.
    func removeClips(at places: [Int64]) throws(CatalogueFailure) {
        try write { database in
            for place in places {
                try database.execute(sql: "DELETE FROM clips WHERE rowid = ?", arguments: [place])
            }
        }
    }
}
