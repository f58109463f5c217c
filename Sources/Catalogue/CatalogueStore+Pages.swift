// SPDX-License-Identifier: Apache-2.0

internal import GRDB
internal import Media

/// Reads the rows of a time range. The number of rows that are read depends on the range and the limit, and not on the
/// number of rows in the catalogue: the indexes are sorted by the start of files and gaps. A file or gap that begins
/// before the range is read only if it begins so late that the longest file or gap could reach into the range.
extension CatalogueStore {
    /// Returns the newest `limit` files of `channel`, including deleted ones, that overlap `range`, in milliseconds
    /// since 1970; the newest first.
    static func newestSegments(
        of channel: String, in range: Range<Int64>, limit: Int, _ database: Database
    ) throws -> [CatalogueSegment] {
        let kept = try newestSegments("deleted IS NULL", channel, range, limit, database)
        let deleted = try newestSegments("deleted IS NOT NULL", channel, range, limit, database)
        return Array((kept + deleted).sorted { ($0.start, $0.name) > ($1.start, $1.name) }.prefix(limit))
    }

    /// Returns the newest `limit` files of `channel` that were not deleted and overlap `range`, the newest first.
    static func newestKept(
        of channel: String, in range: Range<Int64>, limit: Int, _ database: Database
    ) throws -> [CatalogueSegment] { try newestSegments("deleted IS NULL", channel, range, limit, database) }

    /// Returns the newest `limit` files of `channel` that overlap `range` and meet `state`, a condition on the column
    /// `deleted`. Deleted files are read by an index of their own, because a row of many deleted files can be very
    /// long.
    private static func newestSegments(
        _ state: String, _ channel: String, _ range: Range<Int64>, _ limit: Int, _ database: Database
    ) throws -> [CatalogueSegment] {
        let longest = try Int64.fetchOne(
            database,
            sql: "SELECT duration FROM segments WHERE channel = ? AND \(state) ORDER BY duration DESC LIMIT 1",
            arguments: [channel])
        return try segments(
            "channel = ? AND \(state) AND start < ? AND start >= ? AND start + duration / 1000000 >= ?",
            [channel, range.upperBound, earliest(range, longest), range.lowerBound],
            by: "start DESC, name DESC LIMIT \(limit)", database)
    }

    /// Returns the newest `limit` gaps of `channel` that overlap `range`, the newest first.
    static func newestGaps(
        of channel: String, in range: Range<Int64>, limit: Int, _ database: Database
    ) throws -> [CatalogueGap] {
        // The index `gaps_by_length` contains exactly this expression, so that SQLite can use the index.
        let length = "ifnull(to_pts, from_pts) - from_pts"
        let longest = try Int64.fetchOne(
            database, sql: "SELECT \(length) FROM gaps WHERE channel = ? ORDER BY \(length) DESC LIMIT 1",
            arguments: [channel])
        return try Row.fetchAll(
            database,
            sql: """
                SELECT * FROM gaps
                WHERE channel = ? AND start < ? AND start >= ? AND start + (\(length)) / 1000000 >= ?
                ORDER BY start DESC, from_pts DESC LIMIT \(limit)
                """,
            arguments: [channel, range.upperBound, earliest(range, longest), range.lowerBound]
        ).compactMap(CatalogueGap.init(validating:))
    }

    /// Returns the newest `limit` events of `channel` in `range`, the newest first; empty if the database is from a
    /// version without events.
    static func newestEvents(
        of channel: String, in range: Range<Int64>, limit: Int, _ database: Database
    ) throws -> [CatalogueEvent] {
        guard try database.hasTable("events") else { return [] }
        return try Row.fetchAll(
            database,
            sql:
                "SELECT * FROM events WHERE channel = ? AND start < ? AND start >= ? ORDER BY start DESC LIMIT \(limit)",
            arguments: [channel, range.upperBound, range.lowerBound]
        ).compactMap(CatalogueEvent.init(validating:))
    }

    /// Returns the newest file of `channel` that began before `time`, in milliseconds since 1970, even if it was
    /// deleted since.
    static func newestSegment(
        of channel: String, before time: Int64, _ database: Database
    ) throws -> CatalogueSegment? {
        try ["deleted IS NULL", "deleted IS NOT NULL"].flatMap { state in
            try segments(
                "channel = ? AND \(state) AND start < ?", [channel, time], by: "start DESC, name DESC LIMIT 1", database
            )
        }.max { ($0.start, $0.name) < ($1.start, $1.name) }
    }

    /// Returns the channels that have files, gaps or events, sorted. Reads a row of each table for each channel.
    static func channels(_ database: Database) throws -> [String] {
        var tables = ["segments WHERE deleted IS NULL", "gaps WHERE true"]
        if try database.hasTable("events") { tables.append("events WHERE true") }
        let names = try tables.map { try channels(in: $0, database) }
        return names.reduce(into: Set<String>()) { $0.formUnion($1) }.sorted()
    }

    /// Returns the channels in `rows`, a table and a condition after `WHERE`. Reads one row for each channel, by an
    /// index that begins with the channel.
    static func channels(in rows: String, _ database: Database) throws -> Set<String> {
        let next = "SELECT min(channel) FROM \(rows)"
        return try String.fetchSet(
            database,
            sql: """
                WITH RECURSIVE found (channel) AS (
                    \(next) UNION ALL
                    SELECT (\(next) AND channel > found.channel) FROM found WHERE found.channel IS NOT NULL)
                SELECT channel FROM found WHERE channel IS NOT NULL
                """)
    }

    /// The earliest start at which a file or gap of at most `longest` (in nanoseconds) can reach into `range`.
    private static func earliest(_ range: Range<Int64>, _ longest: Int64?) -> Int64 {
        let length = min(max(0, longest ?? 0), Cells.programTime.upperBound.nanoseconds) / 1_000_000 + 1
        let (start, overflow) = range.lowerBound.subtractingReportingOverflow(length)
        return overflow ? .min : start
    }
}
