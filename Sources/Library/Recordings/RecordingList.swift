// SPDX-License-Identifier: Apache-2.0

internal import Media

/// What was recorded.
package struct RecordingList: Sendable, Encodable {
    /// A file.
    package struct Recording: Sendable, Encodable {
        /// What became of a file.
        package enum State: String, Sendable, Encodable {
            /// It is being written.
            case recording
            /// It is complete.
            case finished
            /// It was deleted on purpose.
            case deleted
            /// A crash left it open, and it has not been completed.
            case damaged
        }

        package var id: String
        /// The file's name below the directory of the recordings.
        package var name: String
        package var start: String
        package var end: String
        package var durationSeconds: Double
        package var bytes: Int64
        package var frames: Int
        package var state: State
        package var isHeld: Bool
        /// `none`, `waiting` or `done`; nil where nothing is uploaded.
        package var upload: String?
        package var sha256: String?
        /// How the file ended.
        package var ending: String?
        /// The source that it is a recording of; nil for the program.
        package var source: String?

        /// A file that is described later.
        package init(id: String, name: String, state: State) {
            (self.id, self.name, self.state) = (id, name, state)
            (start, end, durationSeconds, bytes, frames, isHeld) = ("", "", 0, 0, 0, false)
        }
    }

    /// A stretch of the program that is in no file.
    package struct Gap: Sendable, Encodable {
        package var start: String
        package var durationSeconds: Double?
        package var frames: Int?
        package var cause: String

        /// A gap.
        package init(start: String, durationSeconds: Double?, frames: Int?, cause: String) {
            (self.start, self.durationSeconds, self.frames, self.cause) = (start, durationSeconds, frames, cause)
        }
    }

    /// Something that happened.
    package struct Event: Sendable, Encodable {
        package var time: String
        package var kind: String
        package var text: String

        /// An event.
        package init(time: String, kind: String, text: String) {
            (self.time, self.kind, self.text) = (time, kind, text)
        }
    }

    /// Sums over the files that are there.
    package struct Totals: Sendable, Encodable {
        package var count = 0
        package var seconds = 0.0
        package var bytes: Int64 = 0
    }

    package var recordings: [Recording]
    package var gaps: [Gap]
    package var events: [Event]
    package var totals: Totals

    /// A list with its sums.
    package init(recordings: [Recording], gaps: [Gap], events: [Event]) {
        (self.recordings, self.gaps, self.events) = (recordings, gaps, events)
        totals = Totals()
        for recording in recordings where recording.state != .deleted {
            totals.count += 1
            totals.seconds += recording.durationSeconds
            totals.bytes += recording.bytes
        }
    }
}

/// A file that is open for reading.
package struct ArchivedFile: Sendable {
    /// The name under which a client keeps a copy, without a directory.
    package var name: String
    /// Its media type.
    package var type: String
    /// Bytes that are complete.
    package var size: Int64
    /// The strong entity tag, without quotes, of a file that does not change any more; nil for a file that is being
    /// written.
    package var tag: String?
    /// Reads up to so many bytes from a place on; fewer only where the file ends. Blocks.
    package var read: @Sendable (_ offset: Int64, _ count: Int) throws -> [UInt8]

    /// A file.
    package init(
        name: String, type: String, size: Int64, tag: String?,
        read: @escaping @Sendable (_ offset: Int64, _ count: Int) throws -> [UInt8]
    ) {
        (self.name, self.type, self.size, self.tag, self.read) = (name, type, size, tag, read)
    }
}

/// What is to be deleted for.
package enum DeletionSubject: Sendable, Equatable {
    /// One file was named.
    case recording(id: String)
    /// So many bytes are to be free.
    case room(bytes: Int64)
}

/// A file of a plan.
package struct DeletedRecording: Sendable, Encodable, Equatable {
    package var id: String
    package var name: String
    package var bytes: Int64

    /// A file.
    package init(id: String, name: String, bytes: Int64) { (self.id, self.name, self.bytes) = (id, name, bytes) }
}

/// What would be deleted.
package struct DeletionPlan: Sendable, Encodable {
    package var deletes: [DeletedRecording]
    /// What has it done; good for a minute.
    package var token: String
    /// Bytes of the disk that are free now.
    package var freeBytes: Int64?

    /// A plan.
    package init(deletes: [DeletedRecording], token: String, freeBytes: Int64? = nil) {
        (self.deletes, self.token, self.freeBytes) = (deletes, token, freeBytes)
    }
}

/// What was deleted.
package struct DeletionResult: Sendable, Encodable {
    package var deleted: [DeletedRecording]
    package var freedBytes: Int64

    /// A result.
    package init(deleted: [DeletedRecording]) {
        self.deleted = deleted
        freedBytes = deleted.reduce(0) { $0 + $1.bytes }
    }
}
