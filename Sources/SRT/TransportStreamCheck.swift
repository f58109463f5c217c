// SPDX-License-Identifier: Apache-2.0

/// Finds out whether bytes are an MPEG transport stream, by the sync bytes of its packets.
struct TransportStreamCheck {
    /// What the bytes are, as far as is known.
    enum Verdict: Equatable { case transportStream, unknown, other }

    /// Packets in a row whose sync byte must be found (ISO/IEC 13818-1, annex G.1).
    private static let packets = 5
    /// Sizes of plain packets, of packets with a time of four bytes in front, as on Blu-ray discs, and of packets with
    /// a checksum of 16 bytes behind (DVB).
    private static let packetSizes = [188, 192, 204]
    private static let sync: UInt8 = 0x47
    /// Bytes after which the data is not a transport stream: a sender may begin in mid-packet, or with some messages of
    /// another kind.
    static let limit = 16 << 10

    /// What `bytes`, the first of a stream, are.
    static func judge(_ bytes: [UInt8]) -> Verdict {
        for size in packetSizes {
            let length = size * (packets - 1)
            var start = 0
            while start + length < bytes.count {
                if (0..<packets).allSatisfy({ bytes[start + $0 * size] == sync }) { return .transportStream }
                start += 1
            }
        }
        return bytes.count < limit ? .unknown : .other
    }
}
