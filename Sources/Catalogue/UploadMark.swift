// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Glibc

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
        mayExist("\(directory)/\(prefix)\(channel)\(suffix)")
    }

    /// Whether `channel` ever uploaded; also true if the directory cannot be read.
    static func wasUploaded(_ channel: String, in directory: String) -> Bool {
        mayExist("\(directory)/\(lockName(of: channel))")
    }

    private static func mayExist(_ path: String) -> Bool {
        var info = stat()
        return lstat(path, &info) == 0 || errno != ENOENT
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
        for channel in missing {
            let path = "\(directory)/\(prefix)\(channel)\(suffix)"
            do {
                _ = try FileDescriptor.create(path)
            } catch {
                guard error.code == EEXIST else { throw error }
            }
            FileDescriptor.synchroniseDirectory(of: path)
        }
    }

    /// Removes the mark of `channel`, because all files that might wait are in the database.
    static func remove(for channel: String, in directory: String) throws(FileFailure) {
        let path = "\(directory)/\(prefix)\(channel)\(suffix)"
        guard unlink(path) == 0 || errno == ENOENT else { throw FileFailure("delete", path, code: errno) }
    }
}
