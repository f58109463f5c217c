// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
internal import LibAV
internal import Media

/// An MPEG transport stream in messages of whole TS packets.
///
/// If a frame lasts so long that a PCR is due within it, a new message begins at the PCR, because a frame's messages
/// are sent over the duration of the frame.
///
/// Not thread-safe; it belongs to one session.
final class TransportStream {
    private let writer: TransportStreamWriter
    /// The tracks that the current tables (PAT and PMT) describe.
    private var streams: StreamDescription
    /// The maximum size of a message in bytes: a whole number of TS packets.
    private let messageBytes: Int
    private var messages = Deque<[UInt8]>()
    /// The incomplete message.
    private var gathered: [UInt8] = []
    /// The time that is added to all times, in ticks of 90 kHz.
    private var shift: Int64?

    /// A stream with the tracks of `description`, in messages of at most `messageBytes`.
    init(description: StreamDescription, messageBytes: Int) throws(AVFailure) {
        streams = description
        self.messageBytes = max(188, messageBytes / 188 * 188)
        writer = try TransportStreamWriter(.init(service: "relay", provider: "relay"), description: description)
    }

    /// The oldest message that was not sent yet.
    var first: [UInt8]? { messages.first }

    /// The number of messages that were not sent yet.
    var count: Int { messages.count }

    /// The size in bytes of the messages that were not sent yet.
    var bytes: Int { messages.reduce(0) { $0 + $1.count } }

    func removeFirst() { messages.removeFirst() }

    /// Adds a packet; if the codec configuration of its track has changed, new tables come before the packet. All times
    /// are shifted by the same amount, so that the first time is 1 s and none is negative; the distance between audio
    /// and video is exact to the tick.
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

    /// Writes new tables and parameter sets for a track's new codec configuration, which begins with `packet`.
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

    /// Completes the last message, even if it is short.
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
