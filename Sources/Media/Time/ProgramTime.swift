// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The conversion between CLOCK_MONOTONIC and the program's time, for sources that position media in the program. The
/// program's thread writes it at each tick; any thread reads it.
package final class ProgramTime: Sendable {
    private let current: Mutex<ClockLine?>

    /// The time of a program that has not started.
    package convenience init() { self.init(nil) }

    /// The time of a program that `line` converts from CLOCK_MONOTONIC; nil for a program that has not started.
    package init(_ line: ClockLine?) { current = Mutex(line) }

    /// The line that converts CLOCK_MONOTONIC to the program's time; nil before the program starts.
    package var line: ClockLine? {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
