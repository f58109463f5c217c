// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The program's time against CLOCK_MONOTONIC, for sources that position media in the program. The program's thread
/// writes it at each tick; any thread reads it.
package final class ProgramTime: Sendable {
    private let current: Mutex<ClockLine?>

    /// The time of a program that has not begun.
    package convenience init() { self.init(nil) }

    /// A program's time as `line` maps it; nil for a program that has not begun.
    package init(_ line: ClockLine?) { current = Mutex(line) }

    /// The current line from CLOCK_MONOTONIC to the program's time; nil before the program began.
    package var line: ClockLine? {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
