// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// When a program's time 0 was by the wall clock, for recorders of one program whose files are to be named by the same time:
/// the first of them says it. Any thread.
package final class ProgramEpoch: Sendable {
    private let milliseconds = Mutex<Int64?>(nil)

    /// Nobody has said it.
    package init() {}

    /// What was said first, in milliseconds since 1970; `own` if nothing was.
    func decided(_ own: Int64) -> Int64 {
        milliseconds.withLock { known in
            let decided = known ?? own
            known = decided
            return decided
        }
    }
}
