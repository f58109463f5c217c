// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Catalogue
internal import Glibc
internal import SystemPackage

/// Makes sure that only one file of a channel in a directory is uploaded at a time, even by several processes.
///
/// The lock is an advisory lock on an open file. Each program that is run for an upload inherits the file as its
/// standard input. So if a program continues after relay was killed, the program keeps the lock until it ends, and the
/// next run of relay does not write to the same target in the meantime.
final class UploadLock: Sendable {
    /// The open file; valid while this object exists.
    let file: SystemPackage.FileDescriptor

    /// Takes the lock for `channel` in `directory`; nil if another process has it.
    init?(directory: String, channel: String) throws(FileFailure) {
        let path = "\(directory)/\(Catalogue.uploadLockName(of: channel))"
        let number = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard number >= 0 else { throw FileFailure("open", path, code: errno) }
        file = SystemPackage.FileDescriptor(rawValue: number)
        // On a file system without locks, the lock counts as free.
        guard Archive.FileDescriptor.systemLock(number, LOCK_EX | LOCK_NB) != EWOULDBLOCK else { return nil }
    }

    // The file is closed but not unlocked, so that a child process that is still running keeps the lock.
    deinit { close(file.rawValue) }
}
