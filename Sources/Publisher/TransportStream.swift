// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
internal import LibAV
internal import Media

/// An MPEG transport stream in messages of whole TS packets.
///
/// Where a frame lasts so long that the clock is read within it, a message begins there: messages are sent while the
/// frame's time passes.
///
/// Not thread-safe; it belongs to one session.
final class TransportStream {
    private let writer: TransportStreamWriter
    /// The tracks as the tables say.
    private var streams: StreamDescription
    /// Bytes of a message that is full: whole TS packets.
    private let messageBytes: Int
    private var messages = Deque<[UInt8]>()
    /// The message that is not complete.
    private var gathered: [UInt8] = []
    /// Ticks of 90 kHz that all times move by.
    private var shift: Int64?

    /// A stream with the tracks of `description`, in messages of at most `messageBytes`.
    init(description: StreamDescription, messageBytes: Int) throws(AVFailure) {
        streams = description
        self.messageBytes = max(188, messageBytes / 188 * 188)
        writer = try TransportStreamWriter(.init(service: "relay", provider: "relay"), description: description)
    }

    /// The oldest message that is not sent yet.
    var first: [UInt8]? { messages.first }

    /// Messages that are not sent yet.
    var count: Int { messages.count }

    /// Bytes that are not sent yet.
    var bytes: Int { messages.reduce(0) { $0 + $1.count } }

    func removeFirst() { messages.removeFirst() }

    /// Adds a packet, with new tables in front of it if its track is coded in another way than before. All times move by
    /// one amount, so that the first is 1 s and none is negative; the distance of audio and video stays exact to the tick.
    func write(_ packet: EncodedPacket) throws(AVFailure) {
        guard packet.track != .data || packet.description.codec == .scte35 else { return }
        if !streams.holds(packet) { try renew(for: packet) }
        let start = shift ?? 90_000 - packet.timeBase.rescale(packet.dts, to: .mpegTS)
        shift = start
        guard packet.track != .data else {
            flush()
            return gather(writer.write(splice: packet.payload.array, shift: start))
        }
        for (number, part) in try writer.write(packet, shift: start).enumerated() {
            if number > 0 { flush() }
            gather(part)
        }
    }

    /// From `packet` on its track is coded in another way: new tables and parameter sets.
    private func renew(for packet: EncodedPacket) throws(AVFailure) {
        streams = streams.updated(by: packet)
        if packet.track != .data {
            try writer.recode(as: streams)
        } else if streams.hasSplices {
            writer.announceSplices()
        }
    }

    private func gather(_ packets: [UInt8]) {
        var rest = packets[...]
        while !rest.isEmpty {
            let part = rest.prefix(messageBytes - gathered.count)
            gathered += part
            rest = rest.dropFirst(part.count)
            if gathered.count == messageBytes { flush() }
        }
    }

    /// Completes the last message, however short.
    func flush() {
        guard !gathered.isEmpty else { return }
        messages.append(gathered)
        gathered = []
    }

    /// Ends the stream.
    func finish() throws(AVFailure) {
        gather(try writer.finish())
        flush()
    }
}
