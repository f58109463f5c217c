// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What recordings still need of each file system, so that the room of one is not promised to another. All calls may come
/// from any thread.
package final class SpaceLedger: Sendable {
    /// A recording's place in the ledger.
    package struct Entry: Sendable {
        fileprivate let number: Int
        fileprivate let owner: String
        fileprivate let fileSystem: UInt64
    }

    private struct State {
        var next = 0
        var bytes: [(entry: Entry, stillNeeded: @Sendable () -> Int64)] = []
    }

    private let state = Mutex(State())

    /// An empty ledger.
    package init() {}

    /// Notes a recording of `owner`, which still needs what `stillNeeded` says, in bytes.
    package func enter(
        on fileSystem: UInt64, of owner: String, _ stillNeeded: @escaping @Sendable () -> Int64
    ) -> Entry {
        state.withLock { state in
            let entry = Entry(number: state.next, owner: owner, fileSystem: fileSystem)
            state.next += 1
            state.bytes.append((entry, stillNeeded))
            return entry
        }
    }

    /// Forgets a recording.
    func release(_ entry: Entry) {
        state.withLock { state in state.bytes.removeAll { $0.entry.number == entry.number } }
    }

    /// What others still need that were noted before `entry` on the same file system. What the same owner noted before is
    /// what the new recording takes the place of.
    package func bytes(before entry: Entry) -> Int64 {
        let earlier = state.withLock { state in
            state.bytes.filter {
                $0.entry.number < entry.number && $0.entry.fileSystem == entry.fileSystem
                    && $0.entry.owner != entry.owner
            }
        }
        return earlier.reduce(0) { sum, one in
            let (next, overflow) = sum.addingReportingOverflow(one.stillNeeded())
            return overflow ? .max : next
        }
    }
}
