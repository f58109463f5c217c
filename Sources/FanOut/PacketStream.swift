// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// A program as packets. It passes each packet to every consumer, without copying or waiting; stores the current codecs
/// of the tracks; keeps the newest GOP for consumers that join late; and forwards keyframe requests.
///
/// It keeps the order of publishing, which must be the order of decoding times, see ``InterleavingSink``; one thread at
/// a time publishes. Any thread may add and remove consumers at any time; a change takes effect between two packets and
/// does not affect other consumers.
///
/// ```swift
/// let stream = PacketStream(delivery: .immediate)
/// stream.begin(description, keyframes: encoder)
/// stream.join(output)
/// stream.publish(packet)
/// stream.finish()
/// ```
package final class PacketStream: PacketSink, KeyframeRequester {
    /// When packets are delivered.
    package enum Delivery: Sendable {
        /// Together with the next frame: audio waits for the following frame, for one frame at most, so that both are
        /// queued and sent together. For tracks that are encoded here.
        case withFrames
        /// At once. For tracks that are passed through, where only latency matters.
        case immediate
    }

    fileprivate struct State {
        var consumers: [any PacketConsumer] = []
        var streams = StreamDescription()
        var history: PacketHistory
        var keyframes: (any KeyframeRequester)?
        /// Packets that wait for the next frame.
        var waiting: [EncodedPacket] = []
        /// Marks that were not sent yet, sorted by time: the program has not reached their times, or nothing was
        /// published since.
        var marks: [(time: Int64, text: String)] = []
        /// The latest decoding time so far, in nanoseconds.
        var newest = Int64.min
    }

    /// Maximum number of waiting marks: more than an operator can set within an encoder's delay.
    private static let mostMarks = 64

    private let delivery: Delivery
    private let state: Mutex<State>

    /// A stream without tracks and consumers.
    package init(delivery: Delivery = .withFrames, history: PacketHistory.Limits = .currentGOP) {
        self.delivery = delivery
        state = Mutex(State(history: PacketHistory(limits: history)))
    }

    /// Sets the tracks before the first packet, and the receiver of keyframe requests. May be called on any thread.
    package func begin(_ description: StreamDescription, keyframes: any KeyframeRequester) {
        state.withLock { state in
            state.streams = description
            state.keyframes = keyframes
        }
    }

    /// The current codecs of the tracks. May be called on any thread.
    package var description: StreamDescription { state.withLock { $0.streams } }

    /// Forwards the request to the encoder. Without an encoder, the next keyframe comes at its regular time.
    package func requestKeyframe(at programTime: Int64?) {
        state.withLock { $0.keyframes }?.requestKeyframe(at: programTime)
    }

    /// Adds a consumer, which gets the packets from the next one on.
    package func add(_ consumer: any PacketConsumer) {
        state.withLock { $0.consumers.append(consumer) }
    }

    /// Adds a consumer that immediately gets the current GOP, and then the following packets; it gets each packet once.
    package func join(_ consumer: any PacketConsumer) {
        let server = state.withLock { state in
            state.consumers.append(consumer)
            // This happens under the lock, so that no newer packet reaches the consumer first; the consumer only queues
            // the packets.
            let packets = state.history.currentGOP
            return packets.isEmpty ? nil : consumer.accept(packets)
        }
        server?.wake()
    }

    /// Adds a consumer that immediately gets all packets that are kept, which begin with a keyframe, and then the
    /// following packets; it gets each packet once. Returns the presentation time of its first packet; nil if no
    /// packets are kept.
    package func joinReplay(_ consumer: any PacketConsumer) -> Int64? {
        let (server, first) = state.withLock { state in
            state.consumers.append(consumer)
            // This happens under the lock for the same reason as in ``join(_:)``.
            let packets = state.history.packets
            return (packets.isEmpty ? nil : consumer.accept(packets), packets.first?.ptsNanoseconds)
        }
        server?.wake()
        return first
    }

    /// Sets how many packets are kept for consumers that join late. May be called on any thread.
    package func keep(_ limits: PacketHistory.Limits) { state.withLock { $0.history.limits = limits } }

    /// The latest decoding time so far, in nanoseconds; nil before the first packet. May be called on any thread.
    package var newestTime: Int64? {
        let newest = state.withLock { $0.newest }
        return newest == .min ? nil : newest
    }

    /// The current GOP, and the age of its keyframe, in nanoseconds of media time. May be called on any thread.
    package var currentGOP: (packets: [EncodedPacket], age: Int64) {
        state.withLock { ($0.history.currentGOP, $0.history.age) }
    }

    /// Removes a consumer. It gets no packet that is published later, but a call of ``publish(_:)`` on another thread
    /// may still be delivering a frame to it.
    package func remove(_ consumer: any PacketConsumer) {
        state.withLock { state in state.consumers.removeAll { $0 === consumer } }
    }

    /// Adds a text mark at `time`, in nanoseconds of program time, for outputs that can carry marks. They get the mark
    /// before the first packet whose decoding time is `time` or later; at the end of the program it is their last
    /// packet. If too many marks wait because nothing is published, the oldest are dropped. May be called on any
    /// thread; returns at once.
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
            // The encoder retains the stream, so the stream releases the encoder here.
            state.keyframes = nil
            return state.takeWaiting()
        }
        deliver(packets, to: consumers)
    }

    /// Passes all packets to each consumer in one visit, because each consumer is a cache miss. Servers are woken last:
    /// a server that is woken before its last consumer has its packets would check all of its outputs twice.
    private func deliver(_ packets: [EncodedPacket], to consumers: [any PacketConsumer]) {
        var servers: [any PacketServer] = []
        for consumer in consumers {
            if let server = consumer.accept(packets), server !== servers.last { servers.append(server) }
        }
        for server in servers { server.wake() }
    }
}

extension PacketStream.State {
    /// Sends the marks up to `time` after the packets that were published so far, with times that are not earlier than
    /// those of the packets. Marks are not part of the stream's description: no consumer has to prepare for them.
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

/// A consumer of the fan-out: an output, a player or a recorder. No call blocks.
package protocol PacketConsumer: AnyObject, Sendable {
    /// Queues packets: a frame with the audio before it; at the end the remaining packets, if any. Packets of both
    /// tracks come in decoding order. Returns the server that sends the queued packets; nil if there is nothing to
    /// send.
    @discardableResult
    func accept(_ packets: [EncodedPacket]) -> (any PacketServer)?
}

/// Sends the queued packets of one or more outputs. It is woken after each frame, when all outputs have that frame, and
/// at the end. It is woken once for all of its outputs if they were added consecutively; otherwise it may be woken
/// several times per frame. Waking does not block.
package protocol PacketServer: AnyObject, Sendable {
    /// Reports that there are new packets.
    func wake()
}
