// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import Glibc
internal import Media
internal import Segmenter
internal import Synchronization

/// Prevents the deletion of files that contain parts of clips which were neither exported nor deleted. While the
/// catalogue has changed and cannot be read, every file is kept, because a clip might have been added; and every file
/// is kept until the catalogue was read once, as in ``UploadHold``. If clips might have been lost with a damaged
/// catalogue (``ClipMark``), every file that might contain a part of such a clip is kept.
package final class ClipHold: RetentionVeto {
    private let directory: RecordDirectory
    private let channel: String
    private let known = Mutex(Known())
    /// The known contents of files, by file name. They are stored so that a file that does not change is read only
    /// once.
    private let contents = Mutex<[String: Content]>([:])
    private let read: @Sendable (_ path: String) throws -> SegmentFacts

    /// The facts that are known about a file.
    private struct Content {
        let stamp: Stamp
        /// The file's position in its program; nil if it is unknown.
        let place: Place?
    }

    private struct Place {
        let run: String
        /// The range of program times that the file contains.
        let times: Range<ProgramInstant>
        /// When the first frame was on air, in milliseconds since 1970.
        let start: Int64
    }

    /// The last known state of the catalogue.
    private struct Known {
        /// The clips; nil until the catalogue was read, and after a change that could not be read.
        var clips: [CatalogueClip]?
        /// The stamp of the database when it was read. Nil if the database was written just before, because another
        /// write could leave the stamp unchanged.
        var stamp: Stamp?
        /// When the catalogue is read again after a failure. An attempt can take seconds, and many files are checked
        /// one after the other. Therefore only some of the checks try again.
        var retryAt: ContinuousClock.Instant?
        /// The ``RecordDirectory/generation`` of the disk from which the clips were read.
        var generation = 0
    }

    private struct Stamp: Equatable {
        let device: UInt64
        let number: UInt64
        let size: Int64
        /// The file's modification time, in nanoseconds since 1970.
        let modified: Int64
    }

    /// If a file was modified longer ago than this, any further write changes its modification time, in every file
    /// system.
    private static let stampAge = Duration.milliseconds(2500)
    private static let retryInterval = Duration.seconds(10)
    /// The end of the year 9999, in milliseconds since 1970.
    private static let latest: Int64 = 253_402_300_799_999

    /// The maximum number of files whose contents are remembered.
    private static let mostContents = 200_000

    /// A veto for the recordings of `channel` in `directory`. Nothing is read yet.
    package convenience init(directory: RecordDirectory, channel: String) {
        self.init(directory: directory, channel: channel) { try SegmentReader.read($0) }
    }

    /// A veto that reads the tables of a file with `read`; for tests, which count the calls.
    init(
        directory: RecordDirectory, channel: String, read: @escaping @Sendable (_ path: String) throws -> SegmentFacts
    ) {
        (self.directory, self.channel, self.read) = (directory, SegmentName.safe(channel), read)
    }

    /// Whether the file is allowed to be deleted. Can block on the disk, but never on the catalogue's queue.
    package func mayDelete(_ fileName: String) -> Bool {
        // The time of the clip mark is read before the clips and, if there was no mark, again after them: another
        // thread or process can set the catalogue aside, or restore its clips, in the meantime.
        let before = ClipMark.time(in: directory.path)
        guard let clips else { return false }
        let lostUntil = before ?? ClipMark.time(in: directory.path)
        if clips.isEmpty, lostUntil == nil { return true }
        let place: Place
        do throws(FileFailure) {
            // A damaged file counts as containing no part of a clip. So does a transport stream, which has no metadata.
            guard let known = try self.place(of: fileName) else { return true }
            place = known
        } catch {
            // If the file exists but the system cannot read it now, it is kept: it may be intact, and contain a part of
            // a clip.
            return error.code == ENOENT
        }
        // A lost clip can have continued after the loss.
        if let lostUntil, place.start - ClipMachine.longest.inMilliseconds <= lostUntil { return false }
        return !clips.contains { $0.clip.run == place.run && $0.held.overlaps(place.times) }
    }

    /// Returns the position of the file in its program; nil if the file does not tell it. Throws if the system cannot
    /// read the file. Retention asks for many files each minute, so the tables of a file are read once, and again only
    /// after its attributes have changed.
    private func place(of fileName: String) throws(FileFailure) -> Place? {
        let path = "\(directory.path)/\(fileName)"
        let stamp = Self.stamp(of: path)
        if let stamp, let known = contents.withLock({ $0[fileName] }), known.stamp == stamp { return known.place }
        var place: Place?
        do {
            let facts = try read(path)
            if let position = facts.position {
                let length = Duration.nanoseconds(max(1, facts.duration))
                place = Place(
                    run: position.run, times: position.programStart..<position.programStart + length,
                    start: facts.start.milliseconds)
            }
        } catch {
            // A file system that fails now can work later, so the failure is not remembered.
            if let failure = error as? SegmentReadFailure, case .file(let cause) = failure { throw cause }
        }
        guard let stamp, Self.isOld(stamp) else { return place }
        contents.withLock { [place] contents in
            // All remembered contents are dropped from time to time, so that those of deleted files do not stay in
            // memory.
            if contents.count >= Self.mostContents { contents.removeAll() }
            contents[fileName] = Content(stamp: stamp, place: place)
        }
        return place
    }

    package var problem: String? {
        guard let time = ClipMark.time(in: directory.path) else {
            let isUnreadable = known.withLock { $0.retryAt != nil }
            return isUnreadable
                ? "the catalogue in \(directory.path) cannot be read: nothing is deleted, because a clip can be new"
                : nil
        }
        let until = UTCTime(milliseconds: min(time, Self.latest)).extended
        return """
            a damaged catalogue may have lost clips: what was recorded before \(until) is kept until \
            \(directory.path)/\(ClipMark.unknown) is removed
            """
    }

    /// The clips whose files must be kept; nil if they are unknown.
    private var clips: [CatalogueClip]? {
        let generation = directory.generation
        let stamp = Self.stamp(of: "\(directory.path)/\(CatalogueStore.fileName)")
        var known = known.withLock { $0 }
        // If the disk has changed, the known clips are forgotten, because they were read from another disk.
        if known.generation != generation { known = Known(generation: generation) }
        if let stamp, stamp == known.stamp { return known.clips }
        if let retryAt = known.retryAt, ContinuousClock.now < retryAt { return nil }
        var next = Known(generation: generation)
        if let clips = try? ChannelLedger(directory: directory, channel: channel).allClips() {
            let isOld = stamp.map(Self.isOld) ?? false
            (next.clips, next.stamp) = (clips.filter { $0.released == nil }, isOld ? stamp : nil)
        } else {
            next.retryAt = .now.advanced(by: Self.retryInterval)
        }
        self.known.withLock { $0 = next }
        return next.clips
    }

    /// Properties of the file at `path` that show whether it has changed; nil if there is no such file.
    private static func stamp(of path: String) -> Stamp? {
        var info = stat()
        guard lstat(path, &info) == 0 else { return nil }
        return Stamp(
            device: UInt64(info.st_dev), number: UInt64(info.st_ino), size: Int64(info.st_size),
            modified: Int64(info.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(info.st_mtim.tv_nsec))
    }

    /// Whether any later write to the file changes its stamp.
    private static func isOld(_ stamp: Stamp) -> Bool {
        .milliseconds(UTCTime.now.milliseconds) - .nanoseconds(stamp.modified) > stampAge
    }
}
