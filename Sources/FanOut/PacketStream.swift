// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// A program as packets: the hub that hands each packet to every consumer, without copying it and without ever waiting;
/// how its tracks are coded now; the newest GOP for who joins late; and the way to ask for a keyframe.
///
/// What is published keeps its order, which must be that of decoding times, see ``InterleavingSink``; one thread at a
/// time publishes. Consumers may be added and removed at any time on any thread; a change takes effect between two
/// packets and is not felt by the other consumers.
package final class PacketStream: PacketSink, KeyframeRequester {
    /// When packets are handed on.
    package enum Delivery: Sendable {
        /// Packets go out with the next frame: audio waits for the frame behind it, at most a frame, so that both are
        /// queued, and leave, together. This is for tracks that are encoded here.
        case withFrames
        /// Packets go out at once. This is for tracks that are passed through, where latency is all that matters.
        case immediate
    }

    fileprivate struct State {
        var consumers: [any PacketConsumer] = []
        var streams = StreamDescription()
        var history: PacketHistory
        var keyframes: (any KeyframeRequester)?
        /// What goes out with the next frame.
        var waiting: [EncodedPacket] = []
        /// Moments that the program has not come to, or that nothing was published behind yet, in their order.
        var marks: [(time: Int64, text: String)] = []
        /// The latest decoding time so far, in nanoseconds.
        var newest = Int64.min
    }

    /// Marks that wait at most: more than an encoder's delay holds of those that an operator may set.
    private static let mostMarks = 64

    private let delivery: Delivery
    private let state: Mutex<State>

    /// A stream without tracks and consumers.
    package init(delivery: Delivery = .withFrames, history: PacketHistory.Limits = .currentGOP) {
        self.delivery = delivery
        state = Mutex(State(history: PacketHistory(limits: history)))
    }

    /// Says what the tracks are before the first packet, and who makes keyframes. Any thread.
    package func begin(_ description: StreamDescription, keyframes: any KeyframeRequester) {
        state.withLock { state in
            state.streams = description
            state.keyframes = keyframes
        }
    }

    /// The tracks as they are coded now. Any thread.
    package var description: StreamDescription { state.withLock { $0.streams } }

    /// Passes the request on to the maker of keyframes; without one, the next keyframe comes when it comes.
    package func requestKeyframe(at programTime: Int64?) {
        state.withLock { $0.keyframes }?.requestKeyframe(at: programTime)
    }

    /// Adds a consumer; it gets the packets from the next one on.
    package func add(_ consumer: any PacketConsumer) {
        state.withLock { $0.consumers.append(consumer) }
    }

    /// Adds a consumer that gets the GOP under way at once and then the packets that follow, each once.
    package func join(_ consumer: any PacketConsumer) {
        let server = state.withLock { state in
            state.consumers.append(consumer)
            // Under the lock, so that nothing newer reaches the consumer first; it only queues.
            let packets = state.history.currentGOP
            return packets.isEmpty ? nil : consumer.accept(packets)
        }
        server?.wake()
    }

    /// Adds a consumer that gets at once all that is kept, from a keyframe on, and then the packets that follow, each once.
    /// Returns when its first packet is shown; nil if nothing is kept.
    package func joinReplay(_ consumer: any PacketConsumer) -> Int64? {
        let (server, first) = state.withLock { state in
            state.consumers.append(consumer)
            // As above.
            let packets = state.history.packets
            return (packets.isEmpty ? nil : consumer.accept(packets), packets.first?.ptsNanoseconds)
        }
        server?.wake()
        return first
    }

    /// Keeps as much as `limits` say from now on, for who joins late. Any thread.
    package func keep(_ limits: PacketHistory.Limits) { state.withLock { $0.history.limits = limits } }

    /// The latest decoding time so far, in nanoseconds; nil before the first packet. Any thread.
    package var newestTime: Int64? {
        let newest = state.withLock { $0.newest }
        return newest == .min ? nil : newest
    }

    /// The GOP under way, and how old its keyframe is, in nanoseconds of media time. Any thread.
    package var currentGOP: (packets: [EncodedPacket], age: Int64) {
        state.withLock { ($0.history.currentGOP, $0.history.age) }
    }

    /// Removes a consumer. It gets no packet that is published from now on; a call of ``publish(_:)`` that is under way on
    /// another thread may still hand it that frame.
    package func remove(_ consumer: any PacketConsumer) {
        state.withLock { state in state.consumers.removeAll { $0 === consumer } }
    }

    /// Puts `text` on the moment `time` of the program, in nanoseconds, for outputs that can carry it. They get it in front
    /// of the first packet that is not decoded before, or as the last at the end. When too many wait for that, because
    /// nothing is published, the oldest are forgotten. Any thread; returns at once.
    package func mark(_ text: String, at time: Int64) {
        state.withLock { state in
            if state.marks.count == Self.mostMarks { state.marks.removeFirst() }
            let index = state.marks.firstIndex { $0.time > time } ?? state.marks.endIndex
            state.marks.insert((time, text), at: index)
        }
    }

    package func publish(_ packet: EncodedPacket) {
        let (packets, consumers) = state.withLock { state in
            if !state.streams.holds(packet) { state.streams = state.streams.updated(by: packet) }
            if !state.marks.isEmpty { state.placeMarks(upTo: packet.dtsNanoseconds) }
            state.newest = max(state.newest, packet.dtsNanoseconds)
            state.waiting.append(packet)
            let isDue = delivery == .immediate || packet.track == state.streams.leadingKind
            return isDue ? state.takeWaiting() : ([], [])
        }
        deliver(packets, to: consumers)
    }

    package func finish() {
        let (packets, consumers) = state.withLock { state in
            state.placeMarks(upTo: .max)
            // The maker of keyframes holds the stream, so the stream lets go of it here.
            state.keyframes = nil
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

extension PacketStream.State {
    /// The marks of up to `time` go out behind what was published so far, and are no older than that. Their coding is
    /// not part of the stream's description: no consumer has to prepare for it.
    fileprivate mutating func placeMarks(upTo time: Int64) {
        let due = marks.prefix { $0.time <= time }
        for mark in due {
            newest = max(newest, mark.time)
            waiting.append(EncodedPacket(text: mark.text, at: newest))
        }
        marks.removeFirst(due.count)
    }

    fileprivate mutating func takeWaiting() -> ([EncodedPacket], [any PacketConsumer]) {
        defer { waiting.removeAll(keepingCapacity: true) }
        let leading = streams.leadingKind
        for packet in waiting { history.append(packet, isKeyframe: packet.track == leading && packet.isKeyframe) }
        return (waiting, consumers)
    }
}
