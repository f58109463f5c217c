// SPDX-License-Identifier: Apache-2.0

import Media

/// The line of the simulation's time, which no host ever sees.
enum TrueLine {}

/// A moment of the simulation. It begins at zero.
typealias TrueInstant = Instant<TrueLine>

/// The monotonic clock of a simulated host: it begins at any time, and its rate is not quite right.
struct SimulatedClock {
    /// What the clock shows at the true time 0.
    var start: MonotonicInstant
    /// The deviation of the clock's rate, in parts per million.
    var deviation: Int64

    /// What the clock shows at a true time.
    func local(_ time: TrueInstant) -> MonotonicInstant {
        start + .nanoseconds(time.nanoseconds + time.nanoseconds * deviation / 1_000_000)
    }

    /// The first true time at which the clock shows `local`.
    func time(_ local: MonotonicInstant) -> TrueInstant {
        let passed = (local - start).inNanoseconds
        return TrueInstant(nanoseconds: passed - passed * deviation / (1_000_000 + deviation) + 1)
    }
}
