// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import GRDB
internal import Media

/// Finds and stores gaps, and remembers deleted files so that their absence does not count as a gap.
///
/// Adding a closed file or a gap, or recording a deletion, takes the same time in a run of 50,000 files as in a run of
/// 500, because only the adjacent rows are read. For a change in the middle of a run, which is rare, the rows of the
/// whole run are read.
extension CatalogueStore {
    /// Adds a gap that the recorder reported. The parts of found gaps that lie outside of `gap` stay.
    func put(_ gap: CatalogueGap) throws(CatalogueFailure) {
        try write { database in
            let near = try Self.gaps(ofRun: gap.run, from: gap.from, database)
            let overlapped = near.filter { !$0.isTold && gap.overlaps($0) }
            for other in near where other.from == gap.from || overlapped.contains(other) {
                try database.execute(
                    sql: "DELETE FROM gaps WHERE run = ? AND from_pts = ?",
                    arguments: [other.run, other.from.nanoseconds])
            }
            // Deletes the row that has the same key as `gap`, if there is one. The loop above misses this row if it is
            // unreadable.
            try database.execute(
                sql: "DELETE FROM gaps WHERE run = ? AND from_pts = ?", arguments: [gap.run, gap.from.nanoseconds])
            try GapRow(gap).insert(database)
            try Self.insert(overlapped, besides: [gap], database)
            // If the recorder has reported a gap with the same start before, that gap may have been longer than `gap`.
            // Therefore the gaps between the files of the run are found again.
            let isReplaced = near.contains { $0.isTold && $0.from == gap.from }
            if isReplaced { try Self.findGaps(of: [gap.run], [gap.run], database) }
        }
    }

    /// Finds the gaps of all runs again, except where the recorder reported a gap. The runs in `living` continue.
    func findGaps(living: Set<String>) throws(CatalogueFailure) {
        try write { database in
            let runs = try String.fetchSet(
                database, sql: "SELECT DISTINCT run FROM segments WHERE typeof(run) = 'text'")
            try Self.findGaps(of: runs, living, database)
        }
    }

    static func findGaps(of runs: Set<String>, _ living: Set<String>, _ database: Database) throws {
        for run in runs {
            try database.execute(sql: "DELETE FROM gaps WHERE run = ? AND NOT told", arguments: [run])
            let told = try Self.gaps("run = ?", [run], database)
            let found = try Self.segments("run = ?", [run], by: "channel, program_start, name", database)
            let segments = try joinDeleted(found, database)
            try insert(GapInference.gaps(in: segments, living: living), besides: told, database)
        }
    }

    /// Returns the last file of the run to which `segment` belongs; nil if the run is not in `living`, or if `segment`
    /// does not come after that file.
    static func last(
        before segment: CatalogueSegment, _ living: Set<String>, _ database: Database
    ) throws -> CatalogueSegment? {
        guard let run = segment.run, let start = segment.programStart, living.contains(run) else { return nil }
        let last = try Self.segments(
            "run = ? AND program_start IS NOT NULL", [run], by: "program_start DESC, name DESC LIMIT 1", database
        ).first
        guard let last, last.channel == segment.channel, let before = last.programStart, before < start else {
            return nil
        }
        return last
    }

    /// Finds the gap between `last`, which was the last file of its run, and `segment`, which is the last one now.
    static func findGap(
        from last: CatalogueSegment, to segment: CatalogueSegment, _ living: Set<String>, _ database: Database
    ) throws {
        guard let run = segment.run else { return }
        let end = last.wholeEnd ?? .zero
        try database.execute(
            sql: "DELETE FROM gaps WHERE run = ? AND from_pts = ? AND to_pts IS NULL AND NOT told",
            arguments: [run, end.nanoseconds])
        let told = try Self.gaps(ofRun: run, from: end, database).filter(\.isTold)
        try insert(GapInference.gaps(in: [last, segment], living: living), besides: told, database)
    }

    /// Returns the gaps of `run` that end at program time `time` or later, or whose end is unknown.
    private static func gaps(
        ofRun run: String, from time: ProgramInstant, _ database: Database
    ) throws -> [CatalogueGap] {
        // There is one query for each condition, because SQLite would read all gaps of the run if the conditions were
        // joined by OR.
        let places = ["to_pts IS NULL", "to_pts >= ?2", "from_pts >= ?2"].map {
            "SELECT rowid FROM gaps WHERE run = ?1 AND \($0)"
        }
        let earliest = time - CatalogueGap.tolerance
        return try gaps("rowid IN (\(places.joined(separator: " UNION ")))", [run, earliest.nanoseconds], database)
    }

    /// Inserts the parts of `gaps`, which were found, that the recorder's gaps `told` do not cover.
    private static func insert(
        _ gaps: [CatalogueGap], besides told: [CatalogueGap], _ database: Database
    ) throws {
        for gap in gaps {
            let covering = told.filter(gap.overlaps)
            let parts = covering.isEmpty ? [gap] : gap.parts(besides: covering, after: try file(before: gap, database))
            for part in parts where !covering.contains(where: { $0.from == part.from }) {
                try GapRow(part).insert(database)
            }
        }
    }

    /// Returns the file after which `gap` was found; nil if it has no valid row.
    private static func file(before gap: CatalogueGap, _ database: Database) throws -> CatalogueSegment? {
        try segments(
            "run = ? AND program_start <= ?", [gap.run, gap.from.nanoseconds],
            by: "program_start DESC, name DESC LIMIT 1", database
        ).first
    }

    /// Records that the file `name` was deleted on purpose at `time`. If an older file of its run remains, the row of
    /// the deleted file is kept, so that its absence does not count as a gap. Adjacent deleted files share one row.
    func noteDeletion(of name: String, at time: UTCTime) throws(CatalogueFailure) {
        try write {
            try $0.execute(sql: "UPDATE segments SET deleted = ? WHERE name = ?", arguments: [time.milliseconds, name])
            try $0.execute(sql: Self.forgetGaps, arguments: [name])
            try $0.execute(sql: Self.forgetOldest, arguments: [name])
            try $0.execute(sql: Self.forgetPlaceless, arguments: [name])
            try Self.joinDeleted(around: name, $0)
        }
    }

    /// Selects the run of a file, and the program time at which the run's first remaining file begins. If all files of
    /// the run are deleted, this time is the largest number.
    private static let own = """
        WITH own AS (SELECT run, channel FROM segments WHERE name = ?),
            first AS (
                SELECT coalesce(min(program_start), 9223372036854775807) AS place FROM segments
                WHERE deleted IS NULL AND run = (SELECT own.run FROM own) AND channel = (SELECT own.channel FROM own))
        """

    /// Forgets the gaps of the run before its first remaining file, except those that the recorder reported.
    private static let forgetGaps = """
        \(own)
        DELETE FROM gaps WHERE NOT told
            AND run = (SELECT own.run FROM own) AND channel = (SELECT own.channel FROM own)
            AND from_pts < (SELECT place FROM first)
        """

    /// Forgets the deleted files of the run before its first remaining file. A row that reaches beyond the start of
    /// that file is kept: such a row covers several deleted files, and the remaining file is one of them that came
    /// back. Times that differ by less than a millisecond were rounded differently.
    private static let forgetOldest = """
        \(own)
        DELETE FROM segments WHERE deleted IS NOT NULL
            AND run = (SELECT own.run FROM own) AND channel = (SELECT own.channel FROM own)
            AND program_start <= (SELECT place FROM first)
            AND ifnull(program_end, program_start) - 1000000 <= (SELECT place FROM first)
        """

    /// Forgets a deleted file whose position in a run is unknown.
    private static let forgetPlaceless = """
        DELETE FROM segments
        WHERE name = ? AND deleted IS NOT NULL AND (run IS NULL OR program_start IS NULL)
        """
}
