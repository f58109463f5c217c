// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The wall-clock time of program time 0, for several recorders of one program that name their files by the same time.
/// The first recorder sets it. May be used on any thread.
package final class ProgramEpoch: Sendable {
    private let milliseconds = Mutex<Int64?>(nil)

    /// An epoch that is not set yet.
    package init() {}

    /// Returns the value that was set first, in milliseconds since 1970; sets it to `own` if it was not set before.
    func decided(_ own: Int64) -> Int64 {
        milliseconds.withLock { known in
            let decided = known ?? own
            known = decided
            return decided
        }
    }
}
