// SPDX-License-Identifier: Apache-2.0

/// The monotonic clock of a simulated host: it begins at any time, and its rate is not quite right.
struct SimulatedClock {
    /// What the clock shows at the true time 0, in nanoseconds.
    var start: Int64
    /// The deviation of its rate, in parts per million.
    var deviation: Int64

    /// What the clock shows at a true time.
    func local(_ time: Int64) -> Int64 { start + time + time * deviation / 1_000_000 }

    /// The first true time at which the clock shows `local`.
    func time(_ local: Int64) -> Int64 {
        let passed = local - start
        return passed - passed * deviation / (1_000_000 + deviation) + 1
    }
}
