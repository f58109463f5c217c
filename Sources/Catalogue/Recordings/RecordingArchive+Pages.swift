// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import GRDB

/// Reads only a part of the catalogue.
extension RecordingArchive {
    /// Returns the files, gaps and events that overlap `range`, in milliseconds since 1970: of each kind the newest
    /// `limit`. They come from the catalogue, of which no other rows are read; files that someone removed are left out.
    /// If there is no readable catalogue, they come from the files.
    package func page(_ range: Range<Int64>, limit: Int) throws -> Contents {
        let found: Contents? = try? withCatalogue { (store) throws(CatalogueFailure) in
            try store.hasTables() ? page(range, limit, in: store) : nil
        }
        if let found { return found }
        let all = try contents()
        let segments = all.segments.filter { $0.start < range.upperBound && $0.end >= range.lowerBound }
        let gaps = all.gaps.filter { $0.start < range.upperBound && $0.end >= range.lowerBound }
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

    /// Whether a file of the catalogue exists. The names in the directory are not read for that.
    var hasKnownFile: Bool {
        let found: Bool? = try? withCatalogue { (store) throws(CatalogueFailure) -> Bool? in
            guard try store.hasTables() else { return nil }
            return try store.read { database in
                try CatalogueStore.channels(database).contains { channel in
                    try !newestPresent(of: channel, in: 0..<Int64.max, limit: 1, database).isEmpty
                }
            }
        }
        return found ?? false
    }

    /// Like ``catalogued()``, but without gaps and events, for exports of `ranges`, in milliseconds since 1970, from the
    /// files of `channel`, or of any channel. If the files of the catalogue fill each range, no other file can belong to
    /// an export. Then only the rows of files that overlap a range are read, and no names of files.
    package func catalogued(filling ranges: [Range<Int64>], of channel: String? = nil) throws -> Contents {
        let found: [CatalogueSegment]? = try? withCatalogue { (store) throws(CatalogueFailure) in
            try store.hasTables() ? files(filling: ranges, of: channel, in: store) : nil
        }
        return try found.map { Contents(segments: $0, gaps: [], events: [], notes: []) } ?? catalogued()
    }

    /// Returns the files of the catalogue that overlap `ranges`; nil if they do not fill each range, or if one of them
    /// was salvaged: the damaged file and its copy can overlap different ranges.
    func files(
        filling ranges: [Range<Int64>], of channel: String?, in store: CatalogueStore
    ) throws(CatalogueFailure) -> [CatalogueSegment]? {
        try store.read { database -> [CatalogueSegment]? in
            let channels = try channel.map { [$0] } ?? CatalogueStore.channels(database)
            var found: [String: CatalogueSegment] = [:]
            for range in ranges {
                let files = try channels.map { try newestPresent(of: $0, in: range, limit: .max, database) }
                guard files.contains(where: { Self.fill(range, $0.reversed()) }),
                    !files.joined().contains(where: isSalvaged)
                else { return nil }
                for file in files.joined() { found[file.name] = file }
            }
            return found.values.sorted { ($0.channel, $0.start, $0.name) < ($1.channel, $1.start, $1.name) }
        }
    }

    /// Whether `files`, which are sorted by time, leave no hole in `range` that is longer than a frame.
    static func fill(_ range: Range<Int64>, _ files: some Sequence<CatalogueSegment>) -> Bool {
        var (reached, tolerance) = (range.lowerBound, Int64(0))
        for file in files {
            guard file.start <= reached + tolerance else { return false }
            if file.end > reached { (reached, tolerance) = (file.end, max(1, file.frameDuration / 1_000_000)) }
        }
        return reached >= range.upperBound
    }

    /// Whether the file is a salvaged copy, or has one.
    func isSalvaged(_ file: CatalogueSegment) -> Bool {
        file.name.hasSuffix(SegmentSalvage.repairedSuffix) || exists(SegmentSalvage.repairedName(file.name))
    }

    /// Returns the names of all recordings in the directory, including files that are being written.
    package func names() throws -> [String] { try directory.recordings().map(\.name) }

    /// Returns the newest `limit` files of `channel` that exist. Files that someone removed do not count towards the
    /// limit.
    func newestPresent(
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
