// SPDX-License-Identifier: Apache-2.0

package import Dispatch
package import FanOut
internal import Media
internal import Status
internal import Synchronization
internal import Upload

/// The recordings of a channel's program: one in the record directory and, if a second directory is configured, another
/// in that. They are started and stopped together and share nothing else, so that a failure of one does not affect the
/// other.
///
/// All calls may be made on any thread.
package final class ChannelRecordings: Sendable {
    /// How long a disk may not answer until the other recording, or the channel's end, does not wait for it any more.
    static let diskPatience = Duration.seconds(12)

    /// Holds the recording in the record directory.
    package let first: RecordingSlot
    /// Holds the recording in the second directory.
    package let second: RecordingSlot
    /// The second directory that was configured last; nil without a second directory.
    private let directory = Mutex<String?>(nil)
    /// The group that is left when all work in the second directory is done.
    private let secondWork = DispatchGroup()

    /// Creates the recordings of the packets of `hub`. `group` is left when all work that the recording in the record
    /// directory began is done.
    package init(hub: PacketStream, group: DispatchGroup) {
        first = RecordingSlot(hub: hub, group: group)
        second = RecordingSlot(hub: hub, group: secondWork)
    }

    /// The current or prepared recordings; empty while nothing is recorded.
    var current: [Recording] { [first.current, second.current].compactMap(\.self) }

    /// Whether any of the recordings has written a frame to the disk.
    var hasRecorded: Bool { first.hasRecorded || second.hasRecorded }

    /// Starts the prepared recordings, because the program begins. Returns at once.
    func begin() {
        first.begin()
        second.begin()
    }

    /// Stops the recordings, which close their files and end their work in the background. If one of two recordings is
    /// still being set up, it does not begin. Returns at once. Throws an error if nothing is recorded.
    func stop() throws(RecordingSlotError) {
        let other: RecordingSlot
        do throws(RecordingSlotError) {
            try first.stop()
            other = second
        } catch {
            guard error == .notRecording else { throw error }
            try second.stop()
            other = first
        }
        // An error means that there is no recording in the other directory.
        try? other.stop(stopsStart: true)
    }

    /// Ends the recordings, because the program has ended. No other recording can be started afterwards. Returns at
    /// once.
    func finish() {
        first.finish()
        second.finish()
    }

    /// Waits until `deadline` for the work in the second directory to end. Returns whether it has ended.
    func waitForSecond(until deadline: DispatchTime) -> Bool { secondWork.wait(timeout: deadline) == .success }

    /// The directories on whose disks the rest of the work of the second recordings depends, after ``finish()``. An
    /// operator can have replaced or removed the second directory while work was left in it.
    var secondDirectories: Set<String> {
        let ending = second.endingDirectories
        return ending.isEmpty ? Set(directory.withLock { $0 }.map { [$0] } ?? []) : ending
    }

    /// Blocks while the queue of any recorder is more than half full, or holds more than half a second of media. Used
    /// by a program that no clock paces. A disk that hangs is given up after ``diskPatience`` if the other recording
    /// continues; it is used again when it answers.
    func waitForRoom() { Recording.waitForRoom(in: current, patience: Self.diskPatience) }

    /// Records an event of the channel in the catalogues.
    func noteEvent(_ kind: EventKind, _ text: String) {
        for recording in current { recording.noteEvent(kind, text) }
    }

    /// Stops uploading. Files that the recordings have not uploaded yet are uploaded when a recording in the same
    /// directory is next started. Returns at once.
    func cancelUploads() {
        first.cancelUploads()
        second.cancelUploads()
    }

    /// Retries all uploads, also those of stopped recordings that are still uploading. Returns at once; the result says
    /// whether there are uploads.
    package func retryUploads() -> Bool {
        let answers = [first, second].map { $0.perform(.retryAll, ofSource: nil) }
        return answers.contains(true)
    }

    /// Sets the second directory that the status names. Returns whether the status named the same directory before.
    @discardableResult
    func adopt(secondDirectory path: String?) -> Bool {
        directory.withLock { directory in
            defer { directory = path }
            return directory == path
        }
    }

    /// A snapshot of the recording in the second directory; nil if there is no such directory.
    var secondStatus: SecondRecordingStatus? {
        directory.withLock { $0 }.map { SecondRecordingStatus(directory: $0, second.status) }
    }
}
