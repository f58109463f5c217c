// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Foundation
internal import Glibc
internal import Media

/// The hidden directory beside a file that is being made. It is locked while a run uses it, so that a later run can
/// recognize directories that killed runs have left. It is removed when this object is released.
final class RenderDirectory {
    let path: String
    private let descriptor: CInt

    /// How long, in seconds, a directory must have been unchanged before it is removed as a leftover. A newer directory
    /// may be in use although it is not locked yet.
    private static let youth = 60

    /// Creates a directory beside `output`, and removes directories that killed runs have left. Blocks on the disk.
    /// Throws ``ChannelFailure``.
    init(beside output: String) throws(ChannelFailure) {
        Self.removeLeftovers(of: output)
        path = FinishedFile.hidden(beside: output)
        guard mkdir(path, 0o777) == 0 else {
            throw ChannelFailure(.cannotRecord, .makeFile(output), because: String(cString: strerror(errno)))
        }
        descriptor = Self.open(path)
        // A failure of `flock` is ignored, because some network file systems have no locks. A later run then cannot
        // tell which directories are in use, and removes none.
        if descriptor >= 0 { _ = flock(descriptor, LOCK_EX | LOCK_NB) }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
        if descriptor >= 0 { close(descriptor) }
    }

    /// Removes the directories beside `output` that killed runs have left, if they have not changed for `youth`
    /// seconds.
    static func removeLeftovers(of output: String, olderThan youth: Int = youth) {
        for path in FinishedFile.hiddenPaths(of: output) {
            let descriptor = open(path)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            guard let status = FileStatus(descriptor), time(nil) - status.changed >= youth,
                flock(descriptor, LOCK_EX | LOCK_NB) == 0
            else { continue }
            try? FileManager.default.removeItem(atPath: path)
        }
    }

    /// Opens a directory, but not a symbolic link that leads to one.
    private static func open(_ path: String) -> CInt {
        Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    }
}
