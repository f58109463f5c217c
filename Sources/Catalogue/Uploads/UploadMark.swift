// SPDX-License-Identifier: Apache-2.0

internal import Archive

/// An empty file in a directory of recordings. It shows that relay does not know which files of a channel wait for
/// upload.
///
/// The mark is set before a database that replaces a lost one has any tables, and it stays until all files that might
/// wait are in the new database. So the mark exists whenever the new database might wrongly say that no file waits,
/// even if the process was killed meanwhile. Only channels that ever uploaded have a mark. All calls block on the disk.
enum UploadMark {
    private static let (prefix, lockSuffix, suffix) = (".relay-upload-", ".lock", ".unknown")

    /// Returns the name of the lock file, which exists from the first upload of `channel` on and is locked during each
    /// upload.
    static func lockName(of channel: String) -> String { "\(prefix)\(channel)\(lockSuffix)" }

    /// Whether `directory` contains the mark of `channel`; also true if the directory cannot be read.
    static func isSet(for channel: String, in directory: String) -> Bool {
        mark(of: channel, in: directory).mayExist
    }

    /// Whether `channel` ever uploaded; also true if the directory cannot be read.
    static func wasUploaded(_ channel: String, in directory: String) -> Bool {
        MarkFile(lockName(of: channel), in: directory).mayExist
    }

    private static func mark(of channel: String, in directory: String) -> MarkFile {
        MarkFile("\(prefix)\(channel)\(suffix)", in: directory)
    }

    /// Returns the channels with a mark in `directory`.
    static func channels(in directory: String) throws(FileFailure) -> Set<String> {
        try channels(in: directory, suffix)
    }

    /// Returns the channels that ever uploaded.
    static func uploadedChannels(in directory: String) throws(FileFailure) -> Set<String> {
        try channels(in: directory, lockSuffix)
    }

    private static func channels(in directory: String, _ suffix: String) throws(FileFailure) -> Set<String> {
        Set(
            try RecordDirectory.names(in: directory).filter { $0.hasPrefix(prefix) && $0.hasSuffix(suffix) }
                .map { String($0.dropFirst(prefix.count).dropLast(suffix.count)) })
    }

    /// Sets the marks of all channels that ever uploaded.
    static func setAll(in directory: String) throws(FileFailure) {
        let missing = try uploadedChannels(in: directory).subtracting(channels(in: directory))
        for channel in missing { try mark(of: channel, in: directory).touch() }
    }

    /// Removes the mark of `channel`, because all files that might wait are in the database.
    static func remove(for channel: String, in directory: String) throws(FileFailure) {
        try mark(of: channel, in: directory).remove()
    }
}
