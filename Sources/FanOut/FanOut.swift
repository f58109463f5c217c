// SPDX-License-Identifier: Apache-2.0

public import Media
internal import Synchronization

/// Puts the packets of both tracks into one order and hands each to every consumer, without copying it and without
/// ever waiting.
///
/// `publish` is called by one thread, the program's. Consumers may be added and removed at any time on any thread; a
/// change takes effect between two packets and is not felt by the other consumers.
public final class FanOut: PacketSink {
    fileprivate struct State {
        var consumers: [any PacketConsumer] = []
        var interleaver = Interleaver()
        /// Audio in front of the next frame.
        var waiting: [EncodedPacket] = []
    }

    private let state = Mutex(State())

    /// A hub without consumers.
    public init() {}

    /// Adds a consumer; it gets the packets from the next one on.
    public func add(_ consumer: any PacketConsumer) {
        state.withLock { $0.consumers.append(consumer) }
    }

    /// Removes a consumer. It gets no packet that is published from now on; a call of ``publish(_:)`` that is under way on
    /// another thread may still hand it that frame.
    public func remove(_ consumer: any PacketConsumer) {
        state.withLock { state in state.consumers.removeAll { $0 === consumer } }
    }

    public func publish(_ packet: EncodedPacket) {
        let (packets, consumers) = state.withLock { state in
            state.waiting += state.interleaver.push(packet)
            // Audio waits for the frame behind it, at most a frame, so that both are queued, and leave, together.
            return state.waiting.contains { $0.track == .video } ? state.takeWaiting() : ([], [])
        }
        deliver(packets, to: consumers)
    }

    public func finish() {
        let (packets, consumers) = state.withLock { state in
            state.waiting += state.interleaver.end(.audio) + state.interleaver.end(.video)
            return state.takeWaiting()
        }
        deliver(packets, to: consumers)
    }

    /// One walk over the consumers, with all packets: each has memory of its own to be fetched. A server that is woken
    /// before the last of them has its packets would look at all of its outputs twice.
    private func deliver(_ packets: [EncodedPacket], to consumers: [any PacketConsumer]) {
        var servers: [any PacketServer] = []
        for consumer in consumers {
            if let server = consumer.accept(packets), server !== servers.last { servers.append(server) }
        }
        for server in servers { server.wake() }
    }
}

extension FanOut.State {
    fileprivate mutating func takeWaiting() -> ([EncodedPacket], [any PacketConsumer]) {
        defer { waiting.removeAll(keepingCapacity: true) }
        return (waiting, consumers)
    }
}
