// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Media
internal import Networking
internal import Synchronization

/// Knows which directory a path means, so that two names of one directory are the same place.
final class RealDirectory: Sendable {
    /// How long the disk may take to say which directory a path means.
    private static let patience = Duration.seconds(3)
    /// The paths that are being looked up. A path is not looked up again before the disk has answered, so a disk that
    /// hangs blocks one thread for each path.
    private static let asked = Mutex<Set<String>>([])

    private let path: String
    private let opened = Mutex<String?>(nil)

    init(_ path: String) { self.path = path }

    /// Remembers which directory the path means, because that directory is being opened. Blocks for as long as the disk
    /// does.
    func noteOpening() {
        let real = RecordDirectory.real(path)
        opened.withLock { $0 = real }
    }

    /// The directory that was opened last, without symbolic links; before the first opening, the one that the path
    /// means now. If the disk does not answer within 3 s, or has not answered an earlier call for the same path yet,
    /// this is the path itself.
    var value: String {
        if let real = opened.withLock({ $0 }) { return real }
        guard Self.asked.withLock({ $0.insert(path).inserted }) else { return path }
        let real = Answer.of("relay.prepare", within: Self.patience) { [path] in
            defer { Self.asked.withLock { _ = $0.remove(path) } }
            return RecordDirectory.real(path)
        }
        return real ?? path
    }
}
