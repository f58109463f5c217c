// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Glibc

/// Why an operation on a directory of recordings failed, in one sentence.
package struct ArchiveFailure: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// The progress of a long operation.
package struct ArchiveProgress: Sendable, Equatable {
    /// What the operation is doing now, such as `reading`.
    package var step: String
    /// How much of ``total`` is done, in files or bytes.
    package var done: Int64
    /// How much there is to do in total, in files or bytes.
    package var total: Int64
}

/// A directory of recordings as the commands use it, possibly while a recorder is writing to it.
///
/// All calls block on the disk.
package struct RecordingArchive {
    /// The content of the catalogue, after it was made to agree with the files.
    package struct Contents: Sendable {
        /// All segments, sorted by time.
        package var segments: [CatalogueSegment]
        /// All gaps, sorted by time.
        package var gaps: [CatalogueGap]
        /// All events that the catalogue has, sorted by time.
        package var events: [CatalogueEvent]
        /// Notes for the reader, one sentence each.
        package var notes: [String]
    }

    /// The result of rebuilding the catalogue.
    package struct Rebuilding: Sendable, Codable {
        /// The number of segments in the new catalogue.
        package var segments: Int
        /// The number of gaps in the new catalogue.
        package var gaps: Int
        /// The name under which a damaged catalogue was set aside.
        package var setAside: String?
        /// Notes for the reader, one sentence each.
        package var notes: [String]
    }

    let directory: RecordDirectory
    let progress: (ArchiveProgress) -> Void
    /// Waits before the catalogue is read again, because a running recorder may still record a deletion in it.
    var waitForCatalogue: () -> Void = { usleep(100_000) }

    /// The directory at `path`, which must exist and, if `needsFiles` is set, contain at least one recording.
    /// `progress` is called often.
    package init(
        _ path: String, needsFiles: Bool = true, progress: @escaping (ArchiveProgress) -> Void = { _ in }
    ) throws(ArchiveFailure) {
        self.progress = progress
        do throws(FileFailure) {
            directory = try .existing(path)
            if needsFiles, !hasKnownFile, try directory.recordings(andMOV: true).isEmpty {
                throw FileFailure("", path, text: "")
            }
        } catch {
            switch error.code {
            case 0: throw ArchiveFailure("There are no recordings in \(path).")
            case ENOTDIR: throw ArchiveFailure("\(path) is not a directory; name the one that --record named.")
            case ENOENT: throw ArchiveFailure("There is no \(path); name the directory that --record named.")
            case EACCES: throw ArchiveFailure("\(path) may not be read by this user.")
            default: throw ArchiveFailure("\(error)")
            }
        }
    }

    /// Reads the catalogue, and the files that are not in the catalogue. Writes nothing.
    package func contents() throws -> Contents {
        var notes: [String] = []
        let store = try CatalogueStore()
        var events: [CatalogueEvent] = []
        do throws(CatalogueFailure) {
            if let ledger = try ledger() {
                events = ledger.events
                // With the recorder's gaps in place, gaps are found only where the recorder reported none.
                for gap in ledger.gaps where gap.isTold { try store.put(gap) }
                try store.put(ledger.segments.filter { exists($0.name) } + ledger.deleted, living: [])
            } else {
                notes.append("There is no catalogue; this is what the files say.")
            }
        } catch {
            notes.append("The catalogue cannot be read (\(error)); this is what the files say.")
        }
        let unread = try CatalogueSync.run(store, directory) { report("reading", Int64($0), Int64($1)) }
        notes += unread.map { "\($0.name) is left out: \($0.failure)" }
        return Contents(segments: try store.segments(), gaps: try store.gaps(), events: events, notes: notes)
    }

    /// Like ``contents()``, but trusts the catalogue, and reads only the files that are not in it. The gaps come from
    /// the catalogue. This is for exports, which open the files that they need.
    package func catalogued() throws -> Contents {
        var notes: [String] = []
        var ledger = Ledger(segments: [], deleted: [], gaps: [])
        do throws(CatalogueFailure) {
            if let found = try self.ledger(countsDamage: false) {
                ledger = found
            } else {
                notes.append("There is no catalogue; this is what the files say.")
            }
        } catch {
            notes.append("The catalogue cannot be read (\(error)); this is what the files say.")
        }
        let names = Set(try directory.recordings().lazy.filter { $0.kind == .closed }.map(\.name))
        var segments = ledger.segments.filter { names.contains($0.name) }
        let unknown = names.subtracting(ledger.segments.map(\.name)).sorted()
        for (index, name) in unknown.enumerated() {
            report("reading", Int64(index), Int64(unknown.count))
            do throws(SegmentReadFailure) {
                let facts = try SegmentReader.read("\(directory.path)/\(name)")
                segments.append(CatalogueSegment(name: name, facts: facts))
            } catch {
                notes.append("\(name) is left out: \(error)")
            }
        }
        report("reading", Int64(unknown.count), Int64(unknown.count))
        segments.sort { ($0.channel, $0.start, $0.name) < ($1.channel, $1.start, $1.name) }
        return Contents(segments: segments, gaps: ledger.gaps, events: ledger.events, notes: notes)
    }

    /// Makes the catalogue from the files again. An intact catalogue is updated: checksums, upload states, and gaps
    /// that the recorder reported stay in it. A damaged catalogue is set aside, and upload states are copied to a new
    /// one as far as they can be read. If they cannot be read, each channel that ever uploaded queues all of its files
    /// when it is next recorded.
    package func rebuild() throws(ArchiveFailure) -> Rebuilding {
        do {
            do {
                return try fill(setAside: nil)
            } catch CatalogueFailure.damaged {
                let salvaged = try? salvage()
                return try fill(setAside: CatalogueFiles.setAside(in: directory), salvaged)
            }
        } catch {
            throw ArchiveFailure("The catalogue cannot be made: \(error).")
        }
    }

    /// The readable content of a damaged database, as far as this content cannot be read from the files.
    private struct Salvage {
        /// Upload states by file name.
        let uploads: [String: UploadState]
        /// Rows of transport streams, which have no metadata, and rows of files that wait for upload, which can be
        /// unreadable.
        let rows: [CatalogueSegment]
        /// The channels whose upload states were already incomplete; nil if the states of all channels are incomplete.
        let unknown: Set<String>?
    }

    private func salvage() throws -> Salvage {
        let found = try CatalogueStore(reading: directory.path)
            .salvagedSegments(uploaded: UploadMark.uploadedChannels(in: directory.path))
        return Salvage(
            uploads: found.uploads,
            rows: found.segments.filter {
                $0.name.hasSuffix(RecordFormat.ts.fileExtension) || $0.upload == .waiting
            },
            unknown: found.isWhole ? try UploadMark.channels(in: directory.path) : nil)
    }

    private func fill(setAside name: String?, _ salvage: Salvage? = nil) throws -> Rebuilding {
        let store = try CatalogueStore(directory: directory.path)
        let unread = try CatalogueSync.run(store, directory, isFull: true, uploads: salvage?.uploads ?? [:]) {
            report("reading", Int64($0), Int64($1))
        }
        if let salvage {
            let known = Set(try store.segments().map(\.name))
            let rows = salvage.rows.filter { !known.contains($0.name) && exists($0.name) }
            try store.put(rows, living: directory.livingRuns())
            if let unknown = salvage.unknown {
                for channel in try UploadMark.channels(in: directory.path).subtracting(unknown) {
                    try UploadMark.remove(for: channel, in: directory.path)
                }
            }
        }
        let clips = try ClipRestoring.run(store, in: directory).text(in: directory)
        return Rebuilding(
            segments: try store.segments().count, gaps: try store.gaps().count, setAside: name,
            notes: unread.map { "\($0.name) is left out: \($0.failure)" } + (clips.map { [$0] } ?? []))
    }

    /// Returns the content of the database on disk; nil if the file does not exist. `countsDamage` asks for the number
    /// of unreadable rows.
    func ledger(countsDamage: Bool = true) throws(CatalogueFailure) -> Ledger? {
        try withCatalogue { (store) throws(CatalogueFailure) in try Self.all(store, countsDamage) }
    }

    /// Returns what `body` reads from the database on disk; nil if the file does not exist.
    func withCatalogue<Value>(
        _ body: (CatalogueStore) throws(CatalogueFailure) -> Value?
    ) throws(CatalogueFailure) -> Value? {
        guard exists(CatalogueStore.fileName) else { return nil }
        // If the database or its directory cannot be written, a copy is read: SQLite must be able to roll back an
        // unfinished transaction after a crash, and to write the companion files of an earlier version (WAL).
        let path = "\(directory.path)/\(CatalogueStore.fileName)"
        guard access(directory.path, W_OK) == 0, access(path, W_OK) == 0 else {
            let copy = try CatalogueFiles.temporaryCopy(from: directory)
            defer { copy.remove() }
            return try body(CatalogueStore(directory: copy.path))
        }
        return try body(CatalogueStore(reading: directory.path))
    }

    /// The complete content of a database.
    struct Ledger {
        var segments: [CatalogueSegment]
        var deleted: [CatalogueSegment]
        var gaps: [CatalogueGap]
        var events: [CatalogueEvent] = []
        /// The number of unreadable rows.
        var damagedRows = 0
    }

    private static func all(_ store: CatalogueStore, _ countsDamage: Bool) throws(CatalogueFailure) -> Ledger? {
        guard try store.hasTables() else { return nil }
        return Ledger(
            segments: try store.segments(), deleted: try store.deletedSegments(), gaps: try store.gaps(),
            events: try store.events(), damagedRows: try countsDamage ? store.damagedRows() : 0)
    }

    func exists(_ name: String) -> Bool { access("\(directory.path)/\(name)", F_OK) == 0 }

    func report(_ step: String, _ done: Int64, _ total: Int64) {
        progress(ArchiveProgress(step: step, done: done, total: total))
    }
}
