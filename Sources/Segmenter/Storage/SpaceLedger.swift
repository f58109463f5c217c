// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Tracks how much space recordings still need on each file system, so that the same space is not counted for two
/// recordings. May be called on any thread.
package final class SpaceLedger: Sendable {
    /// A recording's entry in the ledger.
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

    package init() {}

    /// Registers a recording of `owner` on `fileSystem`; `stillNeeded` returns how many bytes the recording still
    /// needs.
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

    /// Removes the recording of `entry`.
    func release(_ entry: Entry) {
        state.withLock { state in state.bytes.removeAll { $0.entry.number == entry.number } }
    }

    /// Returns how many bytes other recordings that were registered before `entry` still need on the same file system.
    /// Earlier entries of the same owner do not count: the new recording replaces them.
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
