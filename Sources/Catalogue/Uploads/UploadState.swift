// SPDX-License-Identifier: Apache-2.0

/// The state of a file's upload, or of the command that is run for it.
package enum UploadState: String, Sendable, Codable {
    /// The file will not be uploaded: an operator gave the upload up, or the file no longer exists.
    case none
    /// The file waits for its upload.
    case waiting
    /// The file is uploaded.
    case done
}
