// SPDX-License-Identifier: Apache-2.0

internal import DequeModule
internal import LibAV
internal import Media

/// Makes an MPEG transport stream in messages of whole TS packets.
///
/// Not thread-safe; it belongs to one attempt.
final class TransportStream {
    /// Messages on their way out. A class, because libavformat's callback and the sender both reach it.
    private final class Outbox {
        var messages = Deque<[UInt8]>()
    }

    private let outbox = Outbox()
    private let muxer: Muxer
    private var shift: Int64?

    /// A stream with both tracks of `description`, in messages of at most `messageBytes`.
    init(description: StreamDescription, messageBytes: Int) throws(MuxerFailure) {
        var options = Muxer.Options(format: "mpegts")
        // PES packets of one frame, so that no sound waits for more; tables every 100 ms and at each IDR picture; a PCR
        // 100 ms before the DTS at its side, which is time enough to receive a large picture.
        options.values = ["pes_payload_size": "0", "pat_period": "0.1", "pcr_period": "20"]
        options.metadata = ["service_name": "relay", "service_provider": "relay"]
        options.maximumDelay = .milliseconds(50)
        options.bufferBytes = messageBytes
        muxer = try Muxer(options, description: description) { [outbox] bytes in
            outbox.messages.append([UInt8](bytes))
        }
    }

    /// The oldest message that is not sent yet.
    var first: [UInt8]? { outbox.messages.first }

    /// Messages that are not sent yet.
    var count: Int { outbox.messages.count }

    func removeFirst() { outbox.messages.removeFirst() }

    /// Adds a packet. All times move by one amount, so that the first is 1 s and none is negative; the distance of
    /// sound and picture stays exact to the tick.
    func write(_ packet: EncodedPacket) throws(MuxerFailure) {
        let start = shift ?? 90_000 - packet.timeBase.rescale(packet.dts, to: .mpegTS)
        shift = start
        try muxer.write(packet, shift: start)
    }

    /// Completes the last message, however short.
    func flush() { muxer.flush() }

    /// Ends the stream.
    func finish() throws(MuxerFailure) { try muxer.finish() }
}
