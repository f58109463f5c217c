// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
internal import LibAV
internal import Media

/// Makes an MPEG transport stream in messages that consist of whole TS packets.
///
/// A frame's messages are sent over the duration of the frame. If a frame lasts so long that a PCR is due within it, a
/// new message begins at that PCR.
///
/// Not thread-safe; it belongs to one session.
final class TransportStream {
    private let writer: TransportStreamWriter
    /// The tracks that the current tables (PAT and PMT) describe.
    private var streams: StreamDescription
    /// The maximum size of a message in bytes, which is a multiple of the size of a TS packet.
    private let messageBytes: Int
    private var messages = Deque<[UInt8]>()
    /// The bytes of the message that is not complete yet.
    private var gathered: [UInt8] = []
    /// The number of video frames whose end may be in the message that is not complete yet.
    private(set) var incompleteFrames = 0
    /// The ticks of 90 kHz that are added to all times; nil before the first packet.
    private var shift: Int64?

    /// Creates a stream with the tracks of `description`. A message has at most `messageBytes` bytes.
    init(description: StreamDescription, messageBytes: Int) throws(AVFailure) {
        streams = description
        self.messageBytes = max(188, messageBytes / 188 * 188)
        writer = try TransportStreamWriter(.init(service: "relay", provider: "relay"), description: description)
    }

    /// The oldest complete message that was not sent yet.
    var first: [UInt8]? { messages.first }

    /// The number of complete messages that were not sent yet.
    var count: Int { messages.count }

    /// The size in bytes of the complete messages that were not sent yet.
    var bytes: Int { messages.reduce(0) { $0 + $1.count } }

    func removeFirst() { messages.removeFirst() }

    /// Adds a packet; data packets other than SCTE-35 are ignored. If the codec configuration of the packet's track has
    /// changed, new tables are written before it. All times are shifted by the same amount, so that the first decoding
    /// time is 1 s and none is negative. The distance between audio and video stays exact to the tick.
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
        if packet.track == .video, !gathered.isEmpty { incompleteFrames += 1 }
    }

    /// Writes new tables, because from `packet` on a track has another codec configuration, or SCTE-35 begins. A new
    /// codec configuration also needs new parameter sets.
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

    /// Completes the last message, even if it has less than the maximum size.
    func flush() {
        guard !gathered.isEmpty else { return }
        messages.append(gathered)
        gathered = []
        incompleteFrames = 0
    }

    /// Writes the remaining data at the end of the stream.
    func finish() throws(AVFailure) {
        gather(try writer.finish())
        flush()
    }
}
