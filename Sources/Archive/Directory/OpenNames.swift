// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization

/// Finds the open recordings in a record directory, and reads a directory again only after its entries have changed.
///
/// The directory's modification time shows whether entries were added, removed or renamed. All calls block on the disk.
package final class OpenNames: Sendable {
    private struct Stamp: Equatable {
        var device: UInt64
        var number: UInt64
        /// The modification time, in nanoseconds since 1970.
        var modified: Int64
    }

    private struct Listing {
        /// The directory's stamp. Nil if the directory was changed just before it was read, because another change
        /// could leave the stamp unchanged.
        var stamp: Stamp?
        /// The names of open recordings, relative to the record directory.
        var open: [String] = []
        /// The paths of subdirectories, with a slash at the end.
        var directories: [String] = []
        /// Whether the directory contains an entry that occurs only in a record directory.
        var isArchive = false
    }

    private struct Known {
        /// What was read of each directory. The keys are paths below the record directory, with a slash at the end.
        var listings: [String: Listing] = [:]
        var reads = 0
    }

    /// If a directory was changed longer ago than this, any further change sets another modification time, in
    /// every file system.
    private static let stampAge: Duration = .milliseconds(2500)

    private let known = Mutex(Known())

    /// Creates an object that has read no directory yet.
    package init() {}

    /// How many directories were read, for tests.
    package var reads: Int { known.withLock { $0.reads } }

    /// Returns the names of the recordings in `directory` that are being written or were left open, sorted. Searches
    /// the same directories as ``RecordDirectory/recordings(andMOV:)``.
    package func names(in directory: RecordDirectory) throws(FileFailure) -> [String] {
        let before = known.withLock { $0.listings }
        var listings: [String: Listing] = [:]
        var found: [String] = []
        let top = try list("", in: directory, before[""])
        listings[""] = top
        found += top.open
        var level = top.directories
        for _ in 0..<RecordDirectory.depth {
            var below: [String] = []
            for path in level {
                // A directory that disappeared in the meantime, or that this user is not allowed to read, is skipped.
                guard let listing = try? list(path, in: directory, before[path]) else { continue }
                listings[path] = listing
                if top.isArchive, listing.isArchive { continue }
                found += listing.open
                below += listing.directories
            }
            level = below
        }
        known.withLock { [listings] in $0.listings = listings }
        return found.sorted()
    }

    private func list(
        _ path: String, in directory: RecordDirectory, _ before: Listing?
    ) throws(FileFailure) -> Listing {
        let stamp = Self.stamp(of: "\(directory.path)/\(path)")
        if let stamp, let before, before.stamp == stamp { return before }
        known.withLock { $0.reads += 1 }
        var listing = Listing()
        for entry in try RecordDirectory.read("\(directory.path)/\(path)") {
            if RecordDirectory.isArchiveMark(entry.name) { listing.isArchive = true }
            if entry.name.hasPrefix(".") { continue }
            if entry.isDirectory {
                listing.directories.append("\(path)\(entry.name)/")
            } else if RecordDirectory.kind(entry.name) == .open {
                listing.open.append(path + entry.name)
            }
        }
        // The stamp was taken before the directory was read, so a change during the reading is detected later.
        if let stamp, .milliseconds(UTCTime.now.milliseconds) - .nanoseconds(stamp.modified) > Self.stampAge {
            listing.stamp = stamp
        }
        return listing
    }

    private static func stamp(of path: String) -> Stamp? {
        var info = stat()
        guard stat(path, &info) == 0 else { return nil }
        return Stamp(
            device: UInt64(info.st_dev), number: UInt64(info.st_ino),
            modified: Int64(info.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(info.st_mtim.tv_nsec))
    }
}
