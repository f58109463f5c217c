// SPDX-License-Identifier: Apache-2.0

internal import GRDB

/// The catalogue's tables, and the migrations from older versions of the tables. A released migration is never changed;
/// new migrations are added at the end.
enum CatalogueSchema {
    /// `RLAY`: lets `file` and SQLite's tools recognize the database (`PRAGMA application_id`).
    private static let applicationID = 0x524C_4159

    /// The tables, each with the name of the migration that created it.
    static let tables = [
        (name: "segments", step: "1: segments and gaps"), (name: "gaps", step: "1: segments and gaps"),
        (name: "events", step: "2: events"), (name: "clips", step: "3: clips"),
        (name: "uploads", step: "9: ledger of uploads"),
    ]

    /// Returns the tables that do not exist although the migrations that created them were applied: the list of tables
    /// is damaged. No migration would create them again, so nothing could be written to them. Throws if the list of
    /// applied migrations cannot be read.
    static func missingTables(_ database: Database) throws -> [String] {
        let steps = try String.fetchSet(database, sql: "SELECT identifier FROM grdb_migrations")
        return try tables.filter { try steps.contains($0.step) && !database.hasTable($0.name) }.map(\.name)
    }

    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1: segments and gaps") { database in
            try database.execute(sql: "PRAGMA application_id = \(applicationID)")
            try database.execute(sql: segments)
            try database.execute(sql: gaps)
        }
        migrator.registerMigration("2: events") { try $0.execute(sql: events) }
        migrator.registerMigration("3: clips") { try $0.execute(sql: clips) }
        migrator.registerMigration("4: events by kind") {
            try $0.execute(sql: "CREATE INDEX events_by_kind ON events (channel, kind)")
        }
        migrator.registerMigration("5: seals of clips", migrate: sealClips)
        migrator.registerMigration("6: scenes as JSON", migrate: rewriteScenes)
        migrator.registerMigration("7: files in the order of their runs") { try $0.execute(sql: runs) }
        migrator.registerMigration("8: pages of time") { try $0.execute(sql: pages) }
        migrator.registerMigration("9: ledger of uploads") { try $0.execute(sql: uploads) }
        migrator.registerMigration("10: starts of uploaded files, scenes by time") { database in
            try database.execute(sql: "ALTER TABLE uploads ADD COLUMN start INTEGER")
            try database.execute(sql: "CREATE INDEX events_by_kind_and_time ON events (channel, kind, start)")
        }
        return migrator
    }

    /// Adds a checksum (`seal`) to the existing clips. Without it, SQLite can return a value that was damaged on the
    /// disk as if it were valid.
    private static func sealClips(_ database: Database) throws {
        try database.execute(sql: "ALTER TABLE clips ADD COLUMN seal INTEGER")
        for row in try Row.fetchAll(database, sql: "SELECT rowid AS place, * FROM clips") {
            guard let clip = CatalogueClip(cells: row) else { continue }
            try database.execute(
                sql: "UPDATE clips SET seal = ? WHERE rowid = ?",
                arguments: [clip.seal, row["place"] as DatabaseValue?])
        }
    }

    private static let segments = """
        CREATE TABLE segments (
            name TEXT NOT NULL PRIMARY KEY,
            channel TEXT NOT NULL,
            sequence INTEGER,
            run TEXT,
            start INTEGER NOT NULL,        -- UTC, ms since 1970
            program_start INTEGER,         -- program time, ns
            program_end INTEGER,
            whole_end INTEGER,             -- up to here no frame is missing
            late_frames INTEGER NOT NULL,  -- frames behind whole_end
            frame_duration INTEGER NOT NULL,
            first_pts INTEGER,
            last_pts INTEGER,
            duration INTEGER NOT NULL,     -- ns
            frames INTEGER NOT NULL,
            audio_samples INTEGER NOT NULL,
            bytes INTEGER NOT NULL,
            sha256 TEXT,
            ending TEXT,                   -- rotate, stop, error, disk, recovered
            upload TEXT CHECK (upload IN ('none', 'waiting', 'done')),
            deleted INTEGER                -- on purpose, by retention: UTC, ms since 1970
        ) STRICT;
        CREATE INDEX segments_by_time ON segments (channel, start);
        CREATE INDEX segments_by_run ON segments (run);
        """

    /// With these indexes, the end of a run and its first remaining file are found without reading the rows of all
    /// files.
    private static let runs = """
        DROP INDEX IF EXISTS segments_by_run;
        CREATE INDEX segments_in_run ON segments (run, program_start, name);
        CREATE INDEX segments_kept ON segments (run, channel, program_start) WHERE deleted IS NULL;
        CREATE INDEX segments_deleted ON segments (run, channel, program_start) WHERE deleted IS NOT NULL;
        CREATE INDEX segments_unhashed ON segments (channel) WHERE sha256 IS NULL AND deleted IS NULL;
        CREATE INDEX segments_unsent ON segments (channel, start, name) WHERE upload IS NULL AND deleted IS NULL;
        CREATE INDEX segments_waiting ON segments (channel, start, name) WHERE upload = 'waiting';
        """

    /// With these indexes, the files and gaps of a time range, and the gaps near a program time, are found without
    /// reading the other rows.
    private static let pages = """
        DROP INDEX IF EXISTS segments_by_time;
        CREATE INDEX segments_kept_by_start ON segments (channel, start, name) WHERE deleted IS NULL;
        CREATE INDEX segments_deleted_by_start ON segments (channel, start, name) WHERE deleted IS NOT NULL;
        CREATE INDEX segments_kept_by_length ON segments (channel, duration) WHERE deleted IS NULL;
        CREATE INDEX segments_deleted_by_length ON segments (channel, duration) WHERE deleted IS NOT NULL;
        CREATE INDEX gaps_by_start ON gaps (channel, start, from_pts);
        CREATE INDEX gaps_by_length ON gaps (channel, ifnull(to_pts, from_pts) - from_pts);
        CREATE INDEX gaps_by_end ON gaps (run, to_pts);
        CREATE INDEX gaps_found ON gaps (run, from_pts) WHERE NOT told;
        """

    private static let gaps = """
        CREATE TABLE gaps (
            channel TEXT NOT NULL,
            run TEXT NOT NULL,
            start INTEGER NOT NULL,        -- UTC, ms since 1970
            from_pts INTEGER NOT NULL,     -- program time, ns
            to_pts INTEGER,
            frames INTEGER,
            cause TEXT NOT NULL,
            told INTEGER NOT NULL,         -- by the recorder, or found between the files
            PRIMARY KEY (run, from_pts)
        ) STRICT;
        """

    private static let events = """
        CREATE TABLE events (
            channel TEXT NOT NULL,
            start INTEGER NOT NULL,        -- UTC, ms since 1970
            kind TEXT NOT NULL,            -- input: another one is on air
            text TEXT NOT NULL
        ) STRICT;
        CREATE INDEX events_by_time ON events (channel, start);
        """

    /// The upload ledger has no reference to the rows of files, because its entries outlive them. Its second index
    /// finds the entries of a file whose checksum is computed after the upload.
    private static let uploads = """
        CREATE TABLE uploads (
            channel TEXT NOT NULL,
            time INTEGER NOT NULL,         -- complete: UTC, ms since 1970
            name TEXT NOT NULL,
            bytes INTEGER NOT NULL,
            sha256 TEXT,
            place TEXT NOT NULL,           -- of the copy, or the command
            PRIMARY KEY (channel, time)
        ) STRICT;
        CREATE INDEX uploads_unhashed ON uploads (name) WHERE sha256 IS NULL;
        """

    private static let clips = """
        CREATE TABLE clips (
            channel TEXT NOT NULL,
            id TEXT NOT NULL,
            run TEXT NOT NULL,
            start INTEGER NOT NULL,        -- UTC, ms since 1970
            first_frame INTEGER NOT NULL,  -- of the program
            end_frame INTEGER,             -- behind the last one; empty until the release
            lacking INTEGER NOT NULL,      -- frames before the first that were wanted and not recorded
            complete INTEGER NOT NULL,      -- all that there will be of it is recorded
            rate INTEGER NOT NULL,         -- frames, a rate_divisor of seconds
            rate_divisor INTEGER NOT NULL,
            name TEXT,
            released INTEGER,              -- exported, and its files needed no more: UTC, ms since 1970
            audio_offset INTEGER,          -- of its first packet of audio from its first frame, ns
            PRIMARY KEY (channel, id)
        ) STRICT;
        """
}

extension Database {
    /// Whether the table `name` exists in the file in this transaction. GRDB's `tableExists` uses a cache and does not
    /// see tables that another process has created since.
    func hasTable(_ name: String) throws -> Bool {
        try Bool.fetchOne(
            self, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?)",
            arguments: [name]) ?? false
    }
}
