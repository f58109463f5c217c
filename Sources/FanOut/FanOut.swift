// SPDX-License-Identifier: Apache-2.0

public import Media
internal import Synchronization

/// Hands each packet of a program to every consumer, in order, without copying it and without ever waiting.
///
/// `publish` is called by one thread, the program's. Consumers may be added and removed at any time on any thread; a
/// change takes effect between two packets and is not felt by the other consumers.
public final class FanOut: PacketSink {
    private struct State {
        var consumers: [any PacketConsumer] = []
        var packets = 0
    }

    private let state = Mutex(State())

    /// A hub without consumers.
    public init() {}

    /// Adds a consumer; it gets the packets from the next one on.
    public func add(_ consumer: any PacketConsumer) {
        state.withLock { $0.consumers.append(consumer) }
    }

    /// Removes a consumer; it gets nothing from now on.
    public func remove(_ consumer: any PacketConsumer) {
        state.withLock { state in state.consumers.removeAll { $0 === consumer } }
    }

    public func publish(_ packet: EncodedPacket) {
        let consumers = state.withLock { state in
            state.packets += 1
            return state.consumers
        }
        for consumer in consumers { consumer.accept(packet) }
        // Sound waits for the picture behind it, at most a frame, so that both leave in one write.
        guard packet.track == .video else { return }
        for consumer in consumers { consumer.wake() }
    }

    public func finish() {
        for consumer in state.withLock({ $0.consumers }) { consumer.wake() }
    }

    /// Packets published so far.
    public var publishedPackets: Int { state.withLock { $0.packets } }
}
