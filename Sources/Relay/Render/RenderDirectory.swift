// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Foundation
internal import Glibc
internal import Media

/// The hidden directory beside a file that is being made. It is locked as long as it is in use, so that a later run can tell
/// what one left that was killed, and removed with this object.
final class RenderDirectory {
    let path: String
    private let descriptor: CInt

    /// In seconds: one that was just made is not locked yet.
    private static let youth = 60

    /// Makes one beside `output`, and removes what was left there. Blocks on the disk. Throws ``ChannelFailure``.
    init(beside output: String) throws(ChannelFailure) {
        Self.removeLeftovers(of: output)
        path = FinishedFile.hidden(beside: output)
        guard mkdir(path, 0o777) == 0 else {
            throw ChannelFailure(.cannotRecord, "\(output) cannot be made: \(String(cString: strerror(errno))).")
        }
        descriptor = Self.open(path)
        // Without locks, as some network file systems are, nothing is told from what is in use, and nothing is removed.
        if descriptor >= 0 { _ = flock(descriptor, LOCK_EX | LOCK_NB) }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
        if descriptor >= 0 { close(descriptor) }
    }

    /// Removes the directories of runs that were killed.
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

    /// Only a directory, and not one that lies elsewhere.
    private static func open(_ path: String) -> CInt {
        Glibc.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    }
}
