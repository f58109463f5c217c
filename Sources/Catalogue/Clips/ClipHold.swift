// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import Glibc
internal import Segmenter
internal import Synchronization

/// Keeps the files that contain parts of clips that were neither exported nor deleted. While the catalogue cannot be
/// read, it uses what the catalogue said last; until it could be read once it keeps every file, as ``UploadHold`` does.
/// Where a damaged one may have lost clips (``ClipMark``), it keeps every file that may contain a part of one.
package final class ClipHold: RetentionVeto {
    private let directory: RecordDirectory
    private let channel: String
    private let known = Mutex(Known())

    /// What the catalogue said last.
    private struct Known {
        /// Nil until it could be read.
        var clips: [CatalogueClip]?
        /// The database then; nil if it may have been written to since without another stamp.
        var stamp: Stamp?
        /// When it is tried again after it could not be read, which may take seconds, and is asked for many files in a row.
        var retryAt: ContinuousClock.Instant?
        /// The disk that they were read from: ``RecordDirectory/generation``.
        var generation = 0
    }

    private struct Stamp: Equatable {
        let number: UInt64
        let size: Int64
        /// Nanoseconds since 1970.
        let modified: Int64
    }

    /// Nanoseconds after which a file that is written to has another stamp in any file system.
    private static let stampAge: Int64 = 2_500_000_000
    private static let retryInterval = Duration.seconds(10)
    /// Milliseconds for which a clip that was running when it was lost may continue.
    private static let longest = ClipMachine.longest.components.seconds * 1000
    /// The last day that has a name, in milliseconds since 1970.
    private static let latest: Int64 = 253_402_300_799_999

    /// A veto for the recordings of `channel` in `directory`. Nothing is read yet.
    package init(directory: RecordDirectory, channel: String) {
        (self.directory, self.channel) = (directory, SegmentName.safe(channel))
    }

    /// May block on the disk, but not on what the catalogue is busy with.
    package func mayDelete(_ fileName: String) -> Bool {
        // The mark is read before and after the clips: the catalogue may be set aside, or its clips restored,
        // meanwhile.
        let before = ClipMark.time(in: directory.path)
        guard let clips else { return false }
        let lostUntil = before ?? ClipMark.time(in: directory.path)
        if clips.isEmpty, lostUntil == nil { return true }
        // What cannot be read is a part of no clip, and neither is a transport stream, which says nothing of itself.
        guard let facts = try? SegmentReader.read("\(directory.path)/\(fileName)"), let position = facts.position
        else { return true }
        if let lostUntil, facts.start.milliseconds - Self.longest <= lostUntil { return false }
        let times = position.programStart..<position.programStart + max(1, facts.duration)
        return !clips.contains { $0.clip.run == position.run && $0.held.overlaps(times) }
    }

    package var problem: String? {
        ClipMark.time(in: directory.path).map { time in
            let until = UTCTime(milliseconds: min(time, Self.latest)).extended
            return """
                a damaged catalogue may have lost clips: what was recorded before \(until) is kept until \
                \(directory.path)/\(ClipMark.unknown) is removed
                """
        }
    }

    /// The clips that need their files; nil if they are unknown.
    private var clips: [CatalogueClip]? {
        let generation = directory.generation
        let stamp = stamp
        var known = known.withLock { $0 }
        // The clips of another disk say nothing of this one's.
        if known.generation != generation { known = Known(generation: generation) }
        if let stamp, stamp == known.stamp { return known.clips }
        if let retryAt = known.retryAt, ContinuousClock.now < retryAt { return known.clips }
        var next = Known(clips: known.clips, generation: generation)
        if let clips = try? ChannelLedger(directory: directory, channel: channel).allClips() {
            let isOld = stamp.map { UTCTime.now.milliseconds * 1_000_000 - $0.modified > Self.stampAge } ?? false
            (next.clips, next.stamp) = (clips.filter { $0.released == nil }, isOld ? stamp : nil)
        } else {
            next.retryAt = .now.advanced(by: Self.retryInterval)
        }
        self.known.withLock { $0 = next }
        return next.clips
    }

    /// A stamp that shows whether the database has changed; nil if there is no database.
    private var stamp: Stamp? {
        var info = stat()
        guard lstat("\(directory.path)/\(CatalogueStore.fileName)", &info) == 0 else { return nil }
        return Stamp(
            number: UInt64(info.st_ino), size: Int64(info.st_size),
            modified: Int64(info.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(info.st_mtim.tv_nsec))
    }
}
