// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What recordings still need of each file system, so that the room of one is not promised to another. All calls may come
/// from any thread.
public final class SpaceLedger: Sendable {
    /// A recording's place in the ledger.
    package struct Claim: Sendable {
        fileprivate let number: Int
        fileprivate let owner: String
        fileprivate let fileSystem: UInt64
    }

    private struct State {
        var next = 0
        var bytes: [(claim: Claim, stillNeeded: @Sendable () -> Int64)] = []
    }

    private let state = Mutex(State())

    /// An empty ledger.
    public init() {}

    /// Notes a recording of `owner`, which still needs what `stillNeeded` says, in bytes.
    package func claim(
        on fileSystem: UInt64, of owner: String, _ stillNeeded: @escaping @Sendable () -> Int64
    ) -> Claim {
        state.withLock { state in
            let claim = Claim(number: state.next, owner: owner, fileSystem: fileSystem)
            state.next += 1
            state.bytes.append((claim, stillNeeded))
            return claim
        }
    }

    /// Forgets a recording.
    func release(_ claim: Claim) {
        state.withLock { state in state.bytes.removeAll { $0.claim.number == claim.number } }
    }

    /// What others still need that were noted before `claim` on the same file system. What the same owner noted before is
    /// what the new recording takes the place of.
    package func bytes(before claim: Claim) -> Int64 {
        let earlier = state.withLock { state in
            state.bytes.filter {
                $0.claim.number < claim.number && $0.claim.fileSystem == claim.fileSystem
                    && $0.claim.owner != claim.owner
            }
        }
        return earlier.reduce(0) { sum, one in
            let (next, overflow) = sum.addingReportingOverflow(one.stillNeeded())
            return overflow ? .max : next
        }
    }
}
