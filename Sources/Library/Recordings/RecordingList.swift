// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Media

/// A list of recordings, gaps and events.
package struct RecordingList: Sendable, Encodable {
    /// A recorded file.
    package struct Recording: Sendable, Encodable {
        /// The state of a file.
        package enum State: String, Sendable, Encodable {
            /// The file is being written.
            case recording
            /// The file is complete.
            case finished
            /// The file was deleted on purpose.
            case deleted
            /// A crash left the file open, and it has not been completed.
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
        /// The state of the upload: `none`, `waiting` or `done`; nil if the file was never queued for an upload.
        package var upload: String?
        package var sha256: String?
        /// The reason why the file ended.
        package var ending: String?
        /// The source that was recorded; nil means the program.
        package var source: String?
        /// What keeps a finished file from being deleted: `hold`, `clip`, `upload`; nil if nothing does.
        package var keptFor: [String]?
        /// When a finished file becomes old enough for retention to delete it, unless something keeps the file then;
        /// nil if retention does not delete the file for its age.
        package var deleteAfter: String?

        /// Creates an entry for a file; the other properties are set later.
        package init(id: String, name: String, state: State) {
            (self.id, self.name, self.state) = (id, name, state)
            (start, end, durationSeconds, bytes, frames, isHeld) = ("", "", 0, 0, 0, false)
        }
    }

    /// A stretch of the program that no file contains.
    package struct Gap: Sendable, Encodable {
        package var start: String
        package var durationSeconds: Double?
        package var frames: Int?
        package var cause: String

        package init(start: String, durationSeconds: Double?, frames: Int?, cause: String) {
            (self.start, self.durationSeconds, self.frames, self.cause) = (start, durationSeconds, frames, cause)
        }
    }

    /// An event of the channel.
    package struct Event: Sendable, Encodable {
        package var time: String
        package var kind: String
        package var text: String

        package init(time: String, kind: String, text: String) {
            (self.time, self.kind, self.text) = (time, kind, text)
        }
    }

    /// A file that retention deletes soon.
    package struct NextDeletion: Sendable, Encodable {
        package var id: String
        package var name: String
        package var bytes: Int64
        /// An estimate of the time of the deletion; nil if it is not known, or if nothing is recorded that would make
        /// the deletion necessary.
        package var about: String?
    }

    /// Sums over the files of the list that still exist.
    package struct Totals: Sendable, Encodable {
        package var count = 0
        package var seconds = 0.0
        package var bytes: Int64 = 0
    }

    package var recordings: [Recording]
    package var gaps: [Gap]
    package var events: [Event]
    package var totals: Totals
    /// The files of the whole archive that retention deletes next, in that order; nil if it deletes nothing.
    package var deletesNext: [NextDeletion]?

    /// Creates a list, and computes its sums.
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
    /// The name under which a client stores a copy, without a directory.
    package var name: String
    /// The file's media type.
    package var type: String
    /// The number of bytes that can be read. In a file that is being written, only complete data can be read.
    package var size: Int64
    /// The strong entity tag, without quotes, of a file that does not change any more; nil for a file that is being
    /// written.
    package var tag: String?
    /// Reads up to `count` bytes from `offset` on; fewer only at the end of the file. Blocks.
    package var read: @Sendable (_ offset: Int64, _ count: Int) throws -> [UInt8]

    package init(
        name: String, type: String, size: Int64, tag: String?,
        read: @escaping @Sendable (_ offset: Int64, _ count: Int) throws -> [UInt8]
    ) {
        (self.name, self.type, self.size, self.tag, self.read) = (name, type, size, tag, read)
    }
}

/// The purpose of a deletion.
package enum DeletionSubject: Sendable, Equatable {
    /// One file is to be deleted.
    case recording(id: String)
    /// The oldest files are to be deleted until `bytes` bytes are free on the disk.
    case room(bytes: Int64)
}

/// A file of a deletion plan.
package struct DeletedRecording: Sendable, Encodable, Equatable {
    package var id: String
    package var name: String
    package var bytes: Int64

    package init(id: String, name: String, bytes: Int64) { (self.id, self.name, self.bytes) = (id, name, bytes) }
}

/// The files that would be deleted.
package struct DeletionPlan: Sendable, Encodable {
    package var deletes: [DeletedRecording]
    /// The token that confirms the deletion; valid for a minute.
    package var token: String
    /// The number of bytes that are free on the disk now; nil if one given file is to be deleted.
    package var freeBytes: Int64?

    package init(deletes: [DeletedRecording], token: String, freeBytes: Int64? = nil) {
        (self.deletes, self.token, self.freeBytes) = (deletes, token, freeBytes)
    }
}

/// The files that were deleted.
package struct DeletionResult: Sendable, Encodable {
    package var deleted: [DeletedRecording]
    package var freedBytes: Int64

    package init(deleted: [DeletedRecording]) {
        self.deleted = deleted
        freedBytes = deleted.reduce(0) { $0 + $1.bytes }
    }
}

/// The API's identifier of a recorded file: its closed name, encoded in characters that a URL's path may contain
/// (base64url, RFC 4648, 5). It does not change when the file is closed.
enum RecordingID {
    private static let longest = 4096

    /// The identifier of the file whose closed name is `name`.
    static func id(of name: String) -> String {
        Data(name.utf8).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// The closed name of the file of `id`; nil if `id` is not an identifier.
    static func name(of id: String) -> String? {
        guard !id.isEmpty, id.utf8.count <= longest else { return nil }
        let plain = id.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: plain + padding), let name = String(data: data, encoding: .utf8),
            self.id(of: name) == id
        else { return nil }
        return name
    }
}
