// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// A serial dispatch queue whose work waits until the simulation runs it. So the attempts of a simulation run on
/// Dispatch, as real attempts do, and a simulation with the same seed still has the same result.
final class SimulatedQueue: Sendable {
    let queue = DispatchQueue(label: "relay.simulation.attempts")

    init() { queue.suspend() }

    // A suspended queue must not be released.
    deinit { queue.resume() }

    /// Does all work that was posted before this call.
    func run() {
        queue.resume()
        queue.sync {}
        queue.suspend()
    }
}
