// SPDX-License-Identifier: Apache-2.0

/// Detects an MPEG transport stream by the sync bytes of its packets.
struct TransportStreamCheck {
    /// The result so far.
    enum Verdict: Equatable { case transportStream, unknown, other }

    /// Number of consecutive packets with a correct sync byte that are required (ISO/IEC 13818-1, annex G.1).
    private static let packets = 5
    /// Sizes of plain packets, of packets with a timestamp of four bytes before them (Blu-ray discs), and of packets
    /// with a 16-byte checksum after them (DVB).
    private static let packetSizes = [188, 192, 204]
    private static let sync: UInt8 = 0x47
    /// If no match is found in this many bytes, the data is not a transport stream. The limit is not shorter, because a
    /// sender may begin in mid-packet, or with some messages of another kind.
    static let limit = 16 << 10

    /// Judges `bytes`, which are the first bytes of a stream.
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
