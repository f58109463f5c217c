// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Lets one reader at a time read from a disk, so that the checksums of several channels together read no faster than
/// those of one. A disk is identified by the device number of its file system. Readers get their turns in the order in
/// which they asked.
///
/// Any thread can use this object; no call blocks.
final class DiskTurns: Sendable {
    private struct Reader: Sendable {
        let id: ObjectIdentifier
        let wake: @Sendable () -> Void
    }

    /// The object by which all readers of this process take turns.
    static let shared = DiskTurns()

    /// The readers of each disk; the first one has its turn.
    private let lines = Mutex<[UInt64: [Reader]]>([:])

    /// Whether `reader` has its turn on `disk`. If not, `wake` is called when its turn comes, on any thread. A reader
    /// must end its turn by ``leave(_:_:)``, also before it is freed.
    func take(_ disk: UInt64, for reader: AnyObject, wake: @escaping @Sendable () -> Void) -> Bool {
        let id = ObjectIdentifier(reader)
        return lines.withLock { lines in
            var line = lines[disk] ?? []
            if !line.contains(where: { $0.id == id }) { line.append(Reader(id: id, wake: wake)) }
            lines[disk] = line
            return line.first?.id == id
        }
    }

    /// Ends the turn of `reader` on `disk`, or removes it from those that wait.
    func leave(_ disk: UInt64, _ reader: AnyObject) {
        let id = ObjectIdentifier(reader)
        let next: Reader? = lines.withLock { lines in
            var line = lines[disk] ?? []
            let hadTurn = line.first?.id == id
            line.removeAll { $0.id == id }
            lines[disk] = line.isEmpty ? nil : line
            return hadTurn ? line.first : nil
        }
        next?.wake()
    }

    /// The number of readers of `disk`, including the one that has its turn; for tests.
    func readers(of disk: UInt64) -> Int { lines.withLock { $0[disk]?.count ?? 0 } }
}
