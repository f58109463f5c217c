// SPDX-License-Identifier: Apache-2.0

package import Archive

/// An upload of a file, as an entry of the upload ledger. The entry stays in the catalogue when the file is deleted. A
/// file that is uploaded again has another entry.
package struct UploadEntry: Sendable, Codable, Equatable {
    /// The channel to which the file belongs.
    package var channel: String
    /// The file's path, relative to the directory of the recordings.
    package var name: String
    /// The file's size in bytes.
    package var bytes: Int64
    /// The SHA-256 of the file in hexadecimal digits; nil until it is computed.
    package var sha256: String?
    /// The place of the copy, such as `archive:bucket/path/name.mp4`, or the path of the command that was run for the
    /// file. Contains no secrets.
    package var place: String
    /// When the upload was complete: milliseconds since 1970-01-01T00:00:00Z. Each entry of a channel has its own time.
    package var time: Int64
    /// When the file began, by which files of the same name are told apart: milliseconds since 1970-01-01T00:00:00Z; nil
    /// in an entry of an earlier version.
    var start: Int64?

    private enum CodingKeys: String, CodingKey { case channel, name, bytes, sha256, place, time }

    /// The upload of `segment` to `place`, complete at `time`.
    package init(_ segment: CatalogueSegment, to place: String, at time: UTCTime) {
        self.init(
            channel: segment.channel, name: segment.name, bytes: segment.bytes, sha256: segment.sha256, place: place,
            time: time.milliseconds, start: segment.start)
    }

    init(
        channel: String, name: String, bytes: Int64, sha256: String?, place: String, time: Int64, start: Int64? = nil
    ) {
        (self.channel, self.name, self.bytes) = (channel, name, bytes)
        (self.sha256, self.place, self.time, self.start) = (sha256, place, time, start)
    }
}
