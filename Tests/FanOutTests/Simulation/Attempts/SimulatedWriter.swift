// SPDX-License-Identifier: Apache-2.0

import FanOut
import Synchronization

@testable import Publisher

/// The server that all attempts with a connection share, as all RTMP outputs share a few writers. When it is woken, all
/// of its attempts send the packets in their queues.
final class SimulatedWriter: PacketServer {
    private let attempts = Mutex<[SimulatedAttempt]>([])

    func add(_ attempt: SimulatedAttempt) { attempts.withLock { $0.append(attempt) } }

    func remove(_ attempt: SimulatedAttempt) { attempts.withLock { $0.removeAll { $0 === attempt } } }

    func wake() {
        for attempt in attempts.withLock({ $0 }) { attempt.serveSoon() }
    }
}
