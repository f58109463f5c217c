// SPDX-License-Identifier: Apache-2.0

import Media
import Synchronization

/// The faults that a simulation found. Only the first few are kept, because later faults usually follow from them.
final class SimulationFaults: Sendable {
    private static let most = 5

    private let found = Mutex<[String]>([])

    var all: [String] { found.withLock { $0 } }

    var isEmpty: Bool { found.withLock { $0.isEmpty } }

    /// Adds a fault of `name` at `time` of the simulation's clock.
    func add(_ fault: String, of name: String, at time: MonotonicInstant) {
        found.withLock { found in
            if found.count < Self.most { found.append("\(Double(time.nanoseconds) / 1e9) s, \(name): \(fault)") }
        }
    }
}
