// SPDX-License-Identifier: Apache-2.0

/// Why the body of an audio or video message cannot be used.
package enum FLVFailure: Error, Equatable, Sendable {
    /// The body is truncated or contradictory.
    case malformed
    /// The body has a codec that relay does not support; the value is the codec's name.
    case unsupported(String)
    /// The body has only tracks other than the first; the value lists them.
    case otherTracks([String])
}

/// A packet of Enhanced RTMP: its header and its payload. The header is the same for audio and video (Enhanced RTMP v2,
/// "Enhanced Audio", "Enhanced Video").
struct FLVPacket {
    /// Packet types that audio and video share.
    enum Kind {
        static let sequenceStart: UInt8 = 0
        static let codedFrames: UInt8 = 1
        static let sequenceEnd: UInt8 = 2
        static let modifier: UInt8 = 7
    }

    /// The packet type after any modifiers. In a multitrack packet, it is the type in the multitrack header.
    let type: UInt8
    /// The codec's FourCC, such as `hvc1`.
    let fourCC: String
    /// The track number; 0 unless the packet names another track.
    let track: UInt8
    let payload: ArraySlice<UInt8>
}

/// Parses the body of an audio or video message.
struct FLVReader {
    private(set) var bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    mutating func byte() throws(FLVFailure) -> UInt8 {
        guard let byte = bytes.popFirst() else { throw .malformed }
        return byte
    }

    /// Reads a big-endian number of three bytes.
    mutating func unsigned24() throws(FLVFailure) -> UInt32 {
        let (high, middle, low) = (try byte(), try byte(), try byte())
        return UInt32(high) << 16 | UInt32(middle) << 8 | UInt32(low)
    }

    /// Reads a signed big-endian number of three bytes.
    mutating func signed24() throws(FLVFailure) -> Int32 { Int32(bitPattern: try unsigned24() << 8) >> 8 }

    /// Returns the packets in the body. `type` is the low half of the body's first byte, which the caller has read.
    /// `multitrack` is the packet type for several tracks.
    mutating func packets(type: UInt8, multitrack: UInt8) throws(FLVFailure) -> [FLVPacket] {
        var type = type
        while type == FLVPacket.Kind.modifier { type = try modified() }
        guard type == multitrack else { return [FLVPacket(type: type, fourCC: try fourCC(), track: 0, payload: bytes)] }
        let header = try byte()
        return try tracks(type: header & 0x0F, form: header >> 4)
    }

    /// Skips a modifier, and returns the packet type after it. Relay ignores modifiers, because a modifier changes a
    /// timestamp by less than a millisecond.
    private mutating func modified() throws(FLVFailure) -> UInt8 {
        var count = Int(try byte()) + 1
        if count == 256 { count = (Int(try byte()) << 8 | Int(try byte())) + 1 }
        guard bytes.count >= count else { throw .malformed }
        bytes.removeFirst(count)
        return try byte() & 0x0F
    }

    /// The tracks of a multitrack packet. `form` is 0 for one track, 1 for several tracks with one codec, 2 for several
    /// tracks with different codecs.
    private mutating func tracks(type: UInt8, form: UInt8) throws(FLVFailure) -> [FLVPacket] {
        guard form <= 2 else { throw .malformed }
        var packets: [FLVPacket] = []
        var code = form == 2 ? "" : try fourCC()
        repeat {
            if form == 2 { code = try fourCC() }
            let track = try byte()
            let count = form == 0 ? bytes.count : Int(try unsigned24())
            guard bytes.count >= count else { throw .malformed }
            packets.append(FLVPacket(type: type, fourCC: code, track: track, payload: bytes.prefix(count)))
            bytes.removeFirst(count)
        } while !bytes.isEmpty && packets.count <= UInt8.max
        return packets
    }

    private mutating func fourCC() throws(FLVFailure) -> String {
        let characters = [try byte(), try byte(), try byte(), try byte()]
        return String(decoding: characters, as: UTF8.self)
    }
}
