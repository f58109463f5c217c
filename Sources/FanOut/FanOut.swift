// SPDX-License-Identifier: Apache-2.0

public import Media
internal import Synchronization

/// Puts the packets of both tracks into one order and hands each to every consumer, without copying it and without
/// ever waiting.
///
/// `publish` is called by one thread, the program's. Consumers may be added and removed at any time on any thread; a
/// change takes effect between two packets and is not felt by the other consumers.
public final class FanOut: PacketSink {
    private struct State {
        var consumers: [any PacketConsumer] = []
        var interleaver = Interleaver()
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
        deliver { $0.push(packet) }
    }

    public func finish() {
        deliver { $0.end(.audio) + $0.end(.video) }
        for consumer in state.withLock({ $0.consumers }) { consumer.wake() }
    }

    private func deliver(_ step: (inout Interleaver) -> [EncodedPacket]) {
        let (packets, consumers) = state.withLock { state in (step(&state.interleaver), state.consumers) }
        for packet in packets {
            for consumer in consumers { consumer.accept(packet) }
            // Sound waits for the picture behind it, at most a frame, so that both leave in one write.
            guard packet.track == .video else { continue }
            for consumer in consumers { consumer.wake() }
        }
    }
}
