// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// The fan-out of a program's encoded packets. It hands each packet to every consumer, without copying or waiting. It
/// also knows the current codecs of the tracks, keeps the newest GOP for consumers that join later, and forwards
/// keyframe requests to the encoder.
///
/// Consumers get packets in the order of publishing, which must be the order of decoding times (see
/// ``InterleavingSink``). Only one thread at a time may publish. Any thread may add and remove consumers at any time.
/// Such a change takes effect between two packets and does not affect other consumers.
///
/// ```swift
/// let stream = PacketStream(delivery: .immediate)
/// stream.begin(description, keyframes: encoder)
/// stream.join(output)
/// stream.publish(packet)
/// stream.finish()
/// ```
package final class PacketStream: PacketSink, KeyframeRequester {
    /// When packets are delivered to the consumers.
    package enum Delivery: Sendable {
        /// Audio and data packets wait for the next video frame, usually for at most one frame's time, so that all are
        /// queued and sent together. In a stream without video, data packets wait for the next audio packet. Used for
        /// tracks that relay encodes.
        case withFrames
        /// Each packet is delivered at once. Used in passthrough, where only latency matters.
        case immediate
    }

    fileprivate struct State {
        var consumers: [any PacketConsumer] = []
        var streams = StreamDescription()
        var history: PacketHistory
        var keyframes: (any KeyframeRequester)?
        /// Packets that wait for the next video frame.
        var waiting: [EncodedPacket] = []
        /// Text marks that were not sent yet, sorted by `time`. Either the program has not reached their times, or
        /// nothing was published since they were set.
        var marks: [(time: ProgramInstant, text: String)] = []
        /// The latest decoding time of all published packets.
        var newest = ProgramInstant.distantPast
    }

    /// The maximum number of waiting marks. An operator cannot set this many marks within an encoder's delay.
    private static let mostMarks = 64

    private let delivery: Delivery
    private let state: Mutex<State>

    /// Creates a stream without tracks and consumers.
    package init(delivery: Delivery = .withFrames, history: PacketHistory.Limits = .currentGOP) {
        self.delivery = delivery
        state = Mutex(State(history: PacketHistory(limits: history)))
    }

    /// Sets the stream's tracks, and the encoder that keyframe requests are forwarded to. Must be called before the
    /// first packet; may be called on any thread.
    package func begin(_ description: StreamDescription, keyframes: any KeyframeRequester) {
        state.withLock { state in
            state.streams = description
            state.keyframes = keyframes
        }
    }

    /// The current codecs of the tracks. May be called on any thread.
    package var description: StreamDescription { state.withLock { $0.streams } }

    /// Forwards a keyframe request to the encoder. Without an encoder, nothing happens and the next keyframe comes at
    /// its regular time.
    package func requestKeyframe(at programTime: ProgramInstant?) {
        state.withLock { $0.keyframes }?.requestKeyframe(at: programTime)
    }

    /// Adds a consumer. It gets all packets that are delivered from now on.
    package func add(_ consumer: any PacketConsumer) {
        state.withLock { $0.consumers.append(consumer) }
    }

    /// Adds a consumer. It gets the current GOP at once and then all following packets, each packet once.
    package func join(_ consumer: any PacketConsumer) {
        let server = state.withLock { state in
            state.consumers.append(consumer)
            // The lock is held while the consumer accepts the current GOP, so that no newer packet can reach the
            // consumer first. The consumer only queues the packets, so this takes little time.
            let packets = state.history.currentGOP
            return packets.isEmpty ? nil : consumer.accept(packets)
        }
        server?.wake()
    }

    /// Adds a consumer. It gets all packets of the history at once, from a keyframe on, and then all following packets,
    /// each packet once. Returns the presentation time of the consumer's first packet; nil if the history is empty.
    package func joinReplay(_ consumer: any PacketConsumer) -> ProgramInstant? {
        let (server, first) = state.withLock { state in
            state.consumers.append(consumer)
            // The lock is held while the consumer accepts the packets, for the same reason as in ``join(_:)``.
            let packets = state.history.packets
            return (packets.isEmpty ? nil : consumer.accept(packets), packets.first?.programPts)
        }
        server?.wake()
        return first
    }

    /// Sets how many packets the history keeps for consumers that join later. May be called on any thread.
    package func keep(_ limits: PacketHistory.Limits) { state.withLock { $0.history.limits = limits } }

    /// The latest decoding time of all published packets; nil before the first packet. May be called on any thread.
    package var newestTime: ProgramInstant? {
        let newest = state.withLock { $0.newest }
        return newest == .distantPast ? nil : newest
    }

    /// The packets of the current GOP, and the media time from its keyframe to the newest packet, in nanoseconds. May
    /// be called on any thread.
    package var currentGOP: (packets: [EncodedPacket], age: Int64) {
        state.withLock { ($0.history.currentGOP, $0.history.age) }
    }

    /// Removes a consumer. It gets no packet that is published later. A call of ``publish(_:)`` that is running on
    /// another thread may still deliver packets to this consumer.
    package func remove(_ consumer: any PacketConsumer) {
        state.withLock { state in state.consumers.removeAll { $0 === consumer } }
    }

    /// Adds a text mark at `time` of the program, for outputs that can carry text marks. They get the mark before the
    /// first packet whose decoding time is `time` or later. A mark whose time has not come when the program ends is
    /// sent after the last packet. If too many marks wait because nothing is published, the oldest marks are dropped.
    /// May be called on any thread; returns at once.
    package func mark(_ text: String, at time: ProgramInstant) {
        state.withLock { state in
            if state.marks.count == Self.mostMarks { state.marks.removeFirst() }
            let index = state.marks.firstIndex { $0.time > time } ?? state.marks.endIndex
            state.marks.insert((time, text), at: index)
        }
    }

    package func publish(_ packet: EncodedPacket) {
        let (packets, consumers) = state.withLock { state in
            if !state.streams.holds(packet) { state.streams = state.streams.updated(by: packet) }
            if !state.marks.isEmpty { state.placeMarks(upTo: packet.programDts) }
            state.newest = max(state.newest, packet.programDts)
            state.waiting.append(packet)
            let isDue = delivery == .immediate || packet.track == state.streams.leadingKind
            return isDue ? state.takeWaiting() : ([], [])
        }
        deliver(packets, to: consumers)
    }

    package func finish() {
        let (packets, consumers) = state.withLock { state in
            state.placeMarks(upTo: .distantFuture)
            // The encoder retains the stream, and the stream the encoder. The stream releases the encoder here to break
            // this retain cycle.
            state.keyframes = nil
            return state.takeWaiting()
        }
        deliver(packets, to: consumers)
    }

    /// Hands all packets to one consumer before the next consumer gets any, because each access to another consumer
    /// costs a cache miss. Servers are woken only after all consumers have their packets. Otherwise a server could wake
    /// before its last output has packets, and would have to check all of its outputs twice.
    private func deliver(_ packets: [EncodedPacket], to consumers: [any PacketConsumer]) {
        var servers: [any PacketServer] = []
        for consumer in consumers {
            if let server = consumer.accept(packets), server !== servers.last { servers.append(server) }
        }
        for server in servers { server.serveAtOnce() }
    }
}

extension PacketStream.State {
    /// Places the marks with times up to `time` after the packets that were published so far. The time of a mark is
    /// never earlier than the time of these packets. Marks are not part of the stream's description, because no
    /// consumer has to prepare for them.
    fileprivate mutating func placeMarks(upTo time: ProgramInstant) {
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

/// A consumer of the fan-out: an output, a player or a recorder. Its methods never block.
package protocol PacketConsumer: AnyObject, Sendable {
    /// Queues packets, usually a frame with the audio before it, and at the end the remaining packets. The packets of
    /// all tracks come in decoding order. Returns the server that sends the queued packets; nil if there is nothing to
    /// send.
    @discardableResult
    func accept(_ packets: [EncodedPacket]) -> (any PacketServer)?
}

/// Sends the queued packets of one or more outputs. The publishing thread wakes the server after each delivery, when
/// all of its outputs have queued the packets. If the outputs of one server were added to the stream one directly after
/// another, the server is woken only once per delivery; otherwise it may be woken several times.
package protocol PacketServer: AnyObject, Sendable {
    /// Tells the server that there are new packets to send. Must not block.
    func wake()
    /// Sends the new packets at once if this takes less time than a thread switch; otherwise has the effect of
    /// ``wake()``. Only the publishing thread calls this method. It may hold locks of the program, but no locks of the
    /// fan-out and of the outputs. Must not block.
    func serveAtOnce()
}

extension PacketServer {
    package func serveAtOnce() { wake() }
}
