// SPDX-License-Identifier: Apache-2.0

internal import GRDB

extension RecordingArchive {
    /// Returns the files, gaps and events that overlap `range`, in milliseconds since 1970: of each kind the newest
    /// `limit`. They are those of the catalogue, and no other rows of it are read; files that someone removed are left
    /// out. If there is no catalogue that can be read, they are taken from the files.
    package func page(_ range: Range<Int64>, limit: Int) throws -> Contents {
        let found: Contents? = try? withCatalogue { (store) throws(CatalogueFailure) in
            try store.hasTables() ? page(range, limit, in: store) : nil
        }
        if let found { return found }
        let all = try contents()
        let segments = all.segments.filter { segment in
            segment.start < range.upperBound && segment.start + segment.duration / 1_000_000 >= range.lowerBound
        }
        let gaps = all.gaps.filter { gap in
            let end = gap.start + ((gap.to ?? gap.from) - gap.from) / 1_000_000
            return gap.start < range.upperBound && end >= range.lowerBound
        }
        let events = all.events.filter { range.contains($0.start) }
        return Self.newest(limit, segments, gaps, events, all.notes)
    }

    private func page(
        _ range: Range<Int64>, _ limit: Int, in store: CatalogueStore
    ) throws(CatalogueFailure) -> Contents {
        var (segments, gaps, events): ([CatalogueSegment], [CatalogueGap], [CatalogueEvent]) = ([], [], [])
        try store.read { database in
            for channel in try CatalogueStore.channels(database) {
                segments += try newestPresent(of: channel, in: range, limit: limit, database)
                gaps += try CatalogueStore.newestGaps(of: channel, in: range, limit: limit, database)
                events += try CatalogueStore.newestEvents(of: channel, in: range, limit: limit, database)
            }
        }
        return Self.newest(limit, segments, gaps, events, [])
    }

    /// Returns the newest `limit` files of `channel` that exist. Files that someone removed do not count towards the
    /// limit.
    private func newestPresent(
        of channel: String, in range: Range<Int64>, limit: Int, _ database: Database
    ) throws -> [CatalogueSegment] {
        var (count, known) = (limit, -1)
        while true {
            let rows = try CatalogueStore.newestKept(of: channel, in: range, limit: count, database)
            let present = rows.filter { exists($0.name) }
            let isShort = present.count < limit && present.count < rows.count
            guard isShort, rows.count > known else { return Array(present.prefix(limit)) }
            (count, known) = (count > Int.max / 4 ? Int.max : count * 4, rows.count)
        }
    }

    /// Returns the newest `limit` entries of the upload ledger of all channels whose times are in `range`, in
    /// milliseconds since 1970, sorted by time; empty if there is no catalogue.
    package func uploads(_ range: Range<Int64>, limit: Int) throws(CatalogueFailure) -> [UploadEntry] {
        let found = try withCatalogue { (store) throws(CatalogueFailure) -> [UploadEntry]? in
            try store.read { database in
                try CatalogueStore.uploadedChannels(database).flatMap { channel in
                    try CatalogueStore.newestUploads(of: channel, in: range, limit: limit, database)
                }
            }
        }
        return (found ?? []).sorted { ($0.time, $0.channel) < ($1.time, $1.channel) }.suffix(limit)
    }

    private static func newest(
        _ limit: Int, _ segments: [CatalogueSegment], _ gaps: [CatalogueGap], _ events: [CatalogueEvent],
        _ notes: [String]
    ) -> Contents {
        Contents(
            segments: segments.sorted { ($0.start, $0.name) < ($1.start, $1.name) }.suffix(limit),
            gaps: gaps.sorted { ($0.start, $0.from) < ($1.start, $1.from) }.suffix(limit),
            events: events.sorted { $0.start < $1.start }.suffix(limit), notes: notes)
    }
}
