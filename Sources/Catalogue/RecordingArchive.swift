// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Glibc

/// Why a directory of recordings cannot be worked with, in one sentence.
package struct ArchiveFailure: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// How far a long operation is.
package struct ArchiveProgress: Sendable, Equatable {
    /// What is being done, such as `reading`.
    package var step: String
    /// How much of ``total`` is done; files or bytes.
    package var done: Int64
    /// All there is to do.
    package var total: Int64
}

/// A directory of recordings, looked at from outside: by the commands, beside any recorder that writes into it.
///
/// All calls block on the disk.
package struct RecordingArchive {
    /// What the catalogue holds, brought in line with the files.
    package struct Contents: Sendable {
        /// All segments in the order of their time.
        package var segments: [CatalogueSegment]
        /// All gaps in the order of their time.
        package var gaps: [CatalogueGap]
        /// All events in the order of their time, as far as the catalogue has them.
        package var events: [CatalogueEvent]
        /// What a reader should know, one sentence each.
        package var notes: [String]
    }

    /// What a rebuilding came to.
    package struct Rebuilding: Sendable, Codable {
        /// Segments in the new catalogue.
        package var segments: Int
        /// Gaps in it.
        package var gaps: Int
        /// The name under which a damaged catalogue was kept.
        package var setAside: String?
        /// What a reader should know, one sentence each.
        package var notes: [String]
    }

    let directory: RecordDirectory
    let progress: (ArchiveProgress) -> Void

    /// The directory at `path`, which must exist and hold something of a recording. `progress` is called often.
    package init(_ path: String, progress: @escaping (ArchiveProgress) -> Void = { _ in }) throws(ArchiveFailure) {
        self.progress = progress
        do throws(FileFailure) {
            directory = try .existing(path)
            guard try !directory.recordings(andMOV: true).isEmpty else { throw FileFailure("", path, text: "") }
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

    /// Reads the catalogue, and the files that it does not know. Writes nothing.
    package func contents() throws -> Contents {
        var notes: [String] = []
        let store = try CatalogueStore()
        var events: [CatalogueEvent] = []
        do throws(CatalogueFailure) {
            if let ledger = try ledger() {
                events = ledger.events
                try store.put(ledger.segments.filter { exists($0.name) } + ledger.deleted, living: [])
                for gap in ledger.gaps where gap.isTold { try store.put(gap) }
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

    /// Makes a new catalogue from the files. What else an intact catalogue knows stays: checksums, uploads, and gaps
    /// that the recorder reported. What a damaged one says of uploads stays if it can be read; if not, each channel
    /// that was ever uploaded lets all of its files wait when it is next recorded.
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

    /// What a damaged database still says that no file does.
    private struct Salvage {
        /// What became of uploads, by the names of the files.
        let uploads: [String: UploadState]
        /// Transport streams, which say nothing of themselves, and what waits for its upload, which may be unreadable.
        let rows: [CatalogueSegment]
        /// The channels of whose uploads it did not know all; nil if that is so of each.
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

    /// The database as it is on disk; nil if the file does not exist.
    func ledger() throws(CatalogueFailure) -> Ledger? {
        guard exists(CatalogueStore.fileName) else { return nil }
        // SQLite must be able to undo what a crash left half done, and to write beside one of an earlier version (WAL).
        let path = "\(directory.path)/\(CatalogueStore.fileName)"
        guard access(directory.path, W_OK) == 0, access(path, W_OK) == 0 else {
            let copy = try CatalogueFiles.temporaryCopy(from: directory)
            defer { copy.remove() }
            return try Self.all(CatalogueStore(directory: copy.path))
        }
        return try Self.all(CatalogueStore(reading: directory.path))
    }

    /// All that a database holds.
    struct Ledger {
        var segments: [CatalogueSegment]
        var deleted: [CatalogueSegment]
        var gaps: [CatalogueGap]
        var events: [CatalogueEvent] = []
        /// How many rows cannot be read.
        var damagedRows = 0
    }

    private static func all(_ store: CatalogueStore) throws(CatalogueFailure) -> Ledger? {
        guard try store.hasTables() else { return nil }
        return Ledger(
            segments: try store.segments(), deleted: try store.deletedSegments(), gaps: try store.gaps(),
            events: try store.events(), damagedRows: try store.damagedRows())
    }

    func exists(_ name: String) -> Bool { access("\(directory.path)/\(name)", F_OK) == 0 }

    func report(_ step: String, _ done: Int64, _ total: Int64) {
        progress(ArchiveProgress(step: step, done: done, total: total))
    }
}
