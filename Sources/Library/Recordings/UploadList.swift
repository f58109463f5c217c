// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
package import Media

/// A list of uploads from the catalogue's upload ledger.
package struct UploadList: Sendable, Encodable {
    /// An upload of a file, which may have been deleted since.
    package struct Upload: Sendable, Encodable {
        /// The file's name below the directory of the recordings.
        package var name: String
        /// The file's size in bytes.
        package var bytes: Int64
        /// The SHA-256 of the file in hexadecimal digits; nil until it is computed.
        package var sha256: String?
        /// The place of the copy, or the path of the command that was run for the file.
        package var place: String
        /// When the upload was complete, in UTC.
        package var time: String
    }

    /// The uploads, sorted by time.
    package var uploads: [Upload]
}

extension ChannelArchive {
    /// The newest `limit` uploads that were completed in `range`, in milliseconds since 1970.
    package func uploads(_ range: Range<Int64>, limit: Int) throws(Refusal) -> UploadList {
        guard let directory = try directory() else { return UploadList(uploads: []) }
        return try telling {
            UploadList(
                uploads: try ledger(directory).uploads(range, limit: limit).map { entry in
                    UploadList.Upload(
                        name: entry.name, bytes: entry.bytes, sha256: entry.sha256, place: entry.place,
                        time: UTCTime(milliseconds: entry.time).extended)
                })
        }
    }
}
