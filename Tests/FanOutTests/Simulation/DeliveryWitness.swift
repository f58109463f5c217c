// SPDX-License-Identifier: Apache-2.0

import FanOut
import Media
import Synchronization

/// Records the packets that a stream delivers to each of its consumers.
final class DeliveryWitness: PacketConsumer {
    private let delivered = Mutex<[EncodedPacket]>([])

    func accept(_ packets: [EncodedPacket]) -> (any PacketServer)? {
        delivered.withLock { $0 += packets }
        return nil
    }

    /// Returns the packets that were delivered since the last call.
    func take() -> [EncodedPacket] {
        delivered.withLock { delivered in
            defer { delivered = [] }
            return delivered
        }
    }
}
