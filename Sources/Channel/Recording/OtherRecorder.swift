// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Media
internal import Segmenter
internal import Synchronization

/// Prevents the retention of a channel that is not recorded here from deleting files while another process records the
/// channel in the same directory: that recording has a retention and rules of its own.
///
/// The directory is listed when retention asks about a file, and thus before each deletion, but at most once a second.
final class OtherRecorder: RetentionVeto {
    private struct State {
        /// When the directory was last listed; nil before the first time.
        var listed: MonotonicInstant?
        var failure: FileFailure?
    }

    /// For how long the result of a listing counts.
    private static let interval = Duration.seconds(1)

    private let channel: String
    private let directory: RecordDirectory
    private let clock: any MonotonicClock
    private let state = Mutex(State())

    /// Creates a veto for the files of `channel` in `directory`. Reads nothing yet.
    init(of channel: String, in directory: RecordDirectory, clock: any MonotonicClock) {
        (self.channel, self.directory, self.clock) = (channel, directory, clock)
    }

    /// What the latest listing for ``mayDelete(_:)`` has found: why no file may be deleted; nil if nothing prevents it,
    /// or before the first listing.
    var failure: FileFailure? { state.withLock { $0.failure } }

    func mayDelete(_ fileName: String) -> Bool {
        let now = clock.now
        let isKnown = state.withLock { state in state.listed.map { now - $0 < Self.interval } ?? false }
        if !isKnown {
            let found = look()
            state.withLock { ($0.listed, $0.failure) = (now, found) }
        }
        return failure == nil
    }

    /// Lists the directory. Returns why no file may be deleted; nil if nothing prevents it. Blocks on the disk.
    func look() -> FileFailure? {
        do throws(FileFailure) {
            // Only the names are read: an archive can have many thousands of files.
            let files = try directory.recordings()
            let ownership = Ownership(directory, channel: channel)
            guard
                files.contains(where: {
                    $0.kind == .open && ownership.matches($0.name) && directory.isInUse($0.name)
                })
            else { return nil }
            return FileFailure(
                "delete old recordings in", directory.path, text: "another process records \(channel) there")
        } catch {
            return error
        }
    }
}
