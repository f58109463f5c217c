// SPDX-License-Identifier: Apache-2.0

package import Media
package import Networking

/// Splits messages into chunks (Adobe RTMP 1.0, 5.3.1) and appends them to a buffer, payloads by reference.
///
/// The first message of each track has a type-0 header, and so has each message about the connection. Later messages of
/// a track have a type-1 header with a time difference. So they need the extended timestamp, which many servers handle
/// wrongly, only after a pause of 4.6 hours.
package struct RTMPChunkWriter {
    /// The chunk size that was announced to the peer.
    static let chunkBytes = RTMPChunkSize.announced
    private static let extended: UInt32 = 0xFF_FFFF

    /// The ID of the message stream on which the stream is published or played.
    package let streamID: UInt32
    private var lastVideo: Int64?
    private var lastAudio: Int64?
    private var lastData: Int64?

    /// A writer for a new connection.
    package init(streamID: UInt32) { self.streamID = streamID }

    /// Appends the messages of a frame and of the audio before it as one piece of memory, which other connections send,
    /// too. `timeline` sets the times of the messages. Does nothing and returns false if `packets` are anything else,
    /// or if the headers would be specific to this connection.
    package mutating func append(
        _ packets: [EncodedPacket], on timeline: inout RTMPTimeline, sharing bursts: inout RTMPBursts,
        to buffer: inout OutboundBuffer
    ) -> Bool {
        guard packets.last?.track == .video, packets.dropLast().allSatisfy({ $0.track == .audio }) else { return false }
        var (next, times) = (timeline, self)
        bursts.steps.removeAll(keepingCapacity: true)
        for packet in packets {
            let kind: RTMPMessage.Kind = packet.track == .video ? .video : .audio
            let timestamp = next.timestamp(of: packet)
            guard let previous = times.previous(kind), timestamp - previous < Int64(Self.extended) else { return false }
            bursts.steps.append(timestamp - previous)
            times.note(kind, timestamp)
        }
        let chunks = bursts.chunks(of: packets, steps: bursts.steps) { copy in
            var (timeline, writer) = (timeline, self)
            for packet in packets { writer.append(timeline.message(for: packet), to: &copy) }
        }
        (timeline, self) = (next, times)
        buffer.append(chunks.bytes, endsFrame: true, place: chunks.place)
        return true
    }

    /// Appends `message`.
    package mutating func append(_ message: RTMPMessage, to buffer: inout OutboundBuffer) {
        let previous = previous(message.kind)
        note(message.kind, message.timestamp)
        let time = UInt32(truncatingIfNeeded: message.timestamp - (previous ?? 0))
        let isExtended = time >= Self.extended
        buffer.append(header(message, isFirst: previous == nil, time: time), endsFrame: false)

        var start = 0
        var room = Self.chunkBytes - message.prefix.count
        let payload = message.payload
        while payload.count - start > room {
            buffer.append(payload, start..<start + room)
            buffer.append(separator(message.chunkStream, extended: isExtended ? time : nil))
            start += room
            room = Self.chunkBytes
        }
        buffer.append(payload, start..<payload.count, endsFrame: message.endsFrame)
    }

    /// The time, in milliseconds, of the last message of this kind, if the next message can refer to it; nil if there
    /// is no such message.
    private func previous(_ kind: RTMPMessage.Kind) -> Int64? {
        switch kind {
        case .video: lastVideo
        case .audio: lastAudio
        case .data: lastData
        default: nil
        }
    }

    private mutating func note(_ kind: RTMPMessage.Kind, _ timestamp: Int64) {
        switch kind {
        case .video: lastVideo = timestamp
        case .audio: lastAudio = timestamp
        case .data: lastData = timestamp
        default: break
        }
    }

    /// The basic header, the message header, the extended timestamp if there is one, and the message's prefix.
    private func header(_ message: RTMPMessage, isFirst: Bool, time: UInt32) -> SharedBytes {
        let isExtended = time >= Self.extended
        let headerBytes = (isFirst ? 12 : 8) + (isExtended ? 4 : 0)
        return SharedBytes(count: headerBytes + message.prefix.count) { bytes in
            bytes[0] = (isFirst ? 0x00 : 0x40) | message.chunkStream
            bytes.storeBigEndian(min(time, Self.extended), bytes: 3, at: 1)
            bytes.storeBigEndian(UInt32(truncatingIfNeeded: message.bodyCount), bytes: 3, at: 4)
            bytes[7] = message.kind.rawValue
            if isFirst {
                // The message stream ID is written in little-endian order, as the only number of the protocol.
                bytes.storeBigEndian((message.isOfStream ? streamID : 0).byteSwapped, bytes: 4, at: 8)
            }
            if isExtended { bytes.storeBigEndian(time, bytes: 4, at: headerBytes - 4) }
            message.prefix.write(to: bytes, at: headerBytes)
        }
    }

    /// The bytes between two chunks of a message: a type-3 header, and the extended timestamp again (5.3.1.3).
    private func separator(_ chunkStream: UInt8, extended: UInt32?) -> SharedBytes {
        SharedBytes(count: extended == nil ? 1 : 5) { bytes in
            bytes[0] = 0xC0 | chunkStream
            if let extended { bytes.storeBigEndian(extended, bytes: 4, at: 1) }
        }
    }
}
