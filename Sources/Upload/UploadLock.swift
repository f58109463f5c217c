// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Glibc
internal import SystemPackage

/// Keeps uploads of one channel's files one at a time, over all processes.
///
/// It is an advisory lock on an open file that each program run for an upload inherits as its standard input: one that
/// outlives a killed relay keeps the lock until it ends, so that the next relay does not write to the same place.
final class UploadLock: Sendable {
    /// The open file; valid as long as this object is.
    let file: SystemPackage.FileDescriptor

    /// Takes the lock for `channel` in `directory`; nil if somebody else has it.
    init?(directory: String, channel: String) throws(FileFailure) {
        let path = "\(directory)/\(Catalogue.uploadLockName(of: channel))"
        let number = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard number >= 0 else { throw FileFailure("open", path, code: errno) }
        file = SystemPackage.FileDescriptor(rawValue: number)
        // If the file system has no locks, no other process has this one.
        guard Archive.FileDescriptor.systemLock(number, LOCK_EX | LOCK_NB) != EWOULDBLOCK else { return nil }
    }

    // Closing and not unlocking: a child that still runs keeps the lock.
    deinit { close(file.rawValue) }
}
