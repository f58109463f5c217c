// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import GRDB
internal import Glibc

/// Reads one channel's part of a directory's catalogue, for a reader that runs beside a recorder. All calls block on
/// the disk. While another process writes the catalogue, they block for up to 5 s.
package struct ChannelLedger: Sendable {
    /// The rows of a time range.
    package struct Page: Sendable {
        /// Files sorted by time, including deleted ones.
        package var segments: [CatalogueSegment] = []
        /// Gaps sorted by time.
        package var gaps: [CatalogueGap] = []
        /// Events sorted by time.
        package var events: [CatalogueEvent] = []
    }

    private let directory: RecordDirectory
    private let channel: String

    /// The ledger of `channel` in `directory`. Nothing is read yet. Rows of files whose directory or name shows that
    /// they do not belong to the channel (``Ownership``) are left out. Earlier versions added such rows for files of
    /// other record directories.
    package init(directory: RecordDirectory, channel: String) {
        (self.directory, self.channel) = (directory, SegmentName.safe(channel))
    }

    /// Returns the newest files, gaps and events in `range` (in milliseconds since 1970), at most `limit` of each kind.
    /// If the catalogue cannot be read, the result is made from the files.
    package func page(_ range: Range<Int64>, limit: Int) throws -> Page {
        guard let store = store() else { return try pageOfFiles(range, limit: limit) }
        return try store.read { database in
            let segments = try CatalogueStore.newestSegments(of: channel, in: range, limit: limit, database)
            let gaps = try CatalogueStore.newestGaps(of: channel, in: range, limit: limit, database)
            let events = try CatalogueStore.newestEvents(of: channel, in: range, limit: limit, database)
            return Page(segments: own(segments).reversed(), gaps: gaps.reversed(), events: events.reversed())
        }
    }

    /// Returns the row of the file `name`; nil if the catalogue does not have it.
    package func segment(_ name: String) throws -> CatalogueSegment? {
        guard let store = store() else { return nil }
        return try store.read { database in
            own(try CatalogueStore.segments("name = ? AND channel = ?", [name, channel], by: "name", database)).first
        }
    }

    /// Returns the end time of the newest file that began before `time`; the file can have been deleted since. Nil if
    /// there is no such file, or if the catalogue cannot be read.
    package func newestEnd(before time: UTCTime) -> UTCTime? {
        let newest = try? store()?.read { database in
            try CatalogueStore.newestSegment(of: channel, before: time.milliseconds, database)
        }
        return newest.flatMap { $0 }.map { UTCTime(milliseconds: $0.end) }
    }

    /// Returns all files of the channel that were not deleted, the oldest first.
    package func kept() throws -> [CatalogueSegment] {
        guard let store = store() else { return try pageOfFiles(0..<Int64.max, limit: .max).segments }
        return try store.read { database in
            own(try CatalogueStore.segments("channel = ? AND deleted IS NULL", [channel], by: "start, name", database))
        }
    }

    /// Passes the files of the channel that were not deleted to `body`, the oldest first, until it returns false. Reads
    /// a few rows at a time, and nothing is locked while `body` runs.
    package func visitKept(_ body: (CatalogueSegment) throws -> Bool) throws {
        guard let store = store() else {
            for segment in try pageOfFiles(0..<Int64.max, limit: .max).segments where try !body(segment) { return }
            return
        }
        var place: [DatabaseValue] = [Int64.min.databaseValue, "".databaseValue]
        while true {
            let arguments = StatementArguments([channel.databaseValue] + place)
            let rows = try store.read { database in
                try Row.fetchAll(
                    database,
                    sql: """
                        SELECT * FROM segments WHERE channel = ? AND deleted IS NULL AND (start, name) > (?, ?)
                        ORDER BY start, name LIMIT \(Self.batch)
                        """, arguments: arguments)
            }
            for segment in own(rows.compactMap(CatalogueSegment.init(validating:))) {
                guard try body(segment) else { return }
            }
            // If fewer rows than requested were read, there are no more rows. Invalid rows, and rows that do not belong
            // to the channel, count as read, too.
            guard rows.count == Self.batch, let last = rows.last else { return }
            place = [last["start"], last["name"]]
        }
    }

    /// How many rows are read at a time.
    private static let batch = 200

    /// Returns the files of `run` that were not deleted, the oldest first.
    package func kept(ofRun run: String) throws -> [CatalogueSegment] {
        guard let store = store() else { return try kept().filter { $0.run == run } }
        return try store.read { database in
            own(
                try CatalogueStore.segments(
                    "run = ? AND channel = ? AND deleted IS NULL", [run, channel], by: "start, name", database))
        }
    }

    /// Records that the files `names` were deleted on purpose.
    package func noteDeletions(of names: [String]) throws {
        guard access("\(directory.path)/\(CatalogueStore.fileName)", F_OK) == 0 else { return }
        let store = try CatalogueStore(directory: directory.path)
        for name in names { try store.noteDeletion(of: name, at: .now) }
    }

    /// Returns the newest `limit` entries of the upload ledger whose times are in `range` (in milliseconds since 1970),
    /// sorted by time; empty without a catalogue. Throws if the catalogue cannot be read.
    package func uploads(_ range: Range<Int64>, limit: Int) throws -> [UploadEntry] {
        guard let store = store() else {
            guard access("\(directory.path)/\(CatalogueStore.fileName)", F_OK) == 0 else { return [] }
            throw CatalogueFailure.failed("the catalogue cannot be read")
        }
        let newest = try store.read { database in
            try CatalogueStore.newestUploads(of: channel, in: range, limit: limit, database)
        }
        return newest.reversed()
    }

    /// Returns the clips of the channel sorted by time; empty without a catalogue. Throws if the catalogue cannot be
    /// read.
    package func clips() throws -> [CatalogueClip] {
        if let store = store() { return try store.clips(of: channel) }
        guard access("\(directory.path)/\(CatalogueStore.fileName)", F_OK) == 0 else { return [] }
        throw CatalogueFailure.failed("the catalogue cannot be read")
    }

    /// Returns the clips of the channel like ``clips()``, but throws if a clip might be missing. It is for callers that
    /// must know every clip.
    func allClips() throws -> [CatalogueClip] {
        guard let store = store() else { return try clips() }
        let found = store.salvagedClips()
        guard found.isWhole else { throw CatalogueFailure.damaged("not all clips can be read") }
        return found.clips.filter { $0.channel == channel }
    }

    /// Stores `clips`, and removes the clips whose ids are in `removed`. Creates the catalogue if it is missing.
    /// Returns the catalogue's identity. If a later call passes this identity as `checked`, and the database still has
    /// it, the database is not checked again.
    package func note(_ clips: [CatalogueClip], removing removed: [String], checked: [UInt64] = []) throws -> [UInt64] {
        do {
            // Throws if no disk is mounted on the directory's mount point, so that no database is created in the empty
            // mount point.
            try directory.checkMount()
        } catch {
            throw CatalogueFailure.failed("\(error)")
        }
        let store = try CatalogueStore(directory: directory.path, checked: checked)
        try store.put(clips, removing: removed, of: channel)
        return store.identity
    }

    /// Returns the database if it can be read without copying it; otherwise nil.
    private func store() -> CatalogueStore? {
        let path = "\(directory.path)/\(CatalogueStore.fileName)"
        var info = stat()
        guard lstat(path, &info) == 0, info.st_mode & S_IFMT == S_IFREG, access(path, W_OK) == 0,
            let store = try? CatalogueStore(reading: directory.path), (try? store.hasTables()) == true
        else { return nil }
        return store
    }

    /// Returns the rows of `segments` that belong to the channel. Rows of deleted files are all kept, because the
    /// content of a deleted file can no longer show its channel.
    private func own(_ segments: [CatalogueSegment]) -> [CatalogueSegment] {
        let ownership = Ownership(directory, channel: channel)
        return segments.filter { $0.deleted != nil || ownership.matches($0.name) }
    }

    private func pageOfFiles(_ range: Range<Int64>, limit: Int) throws -> Page {
        guard try directory.recordings().contains(where: { $0.kind == .closed }) else { return Page() }
        let contents = try RecordingArchive(directory.path).contents()
        let segments = own(
            contents.segments.filter {
                $0.channel == channel && $0.start < range.upperBound && $0.end >= range.lowerBound
            })
        let gaps = contents.gaps.filter {
            $0.channel == channel && $0.start < range.upperBound && $0.end >= range.lowerBound
        }
        let events = contents.events.filter { $0.channel == channel && range.contains($0.start) }
        return Page(segments: segments.suffix(limit), gaps: gaps.suffix(limit), events: events.suffix(limit))
    }
}
