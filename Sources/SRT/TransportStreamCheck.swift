// SPDX-License-Identifier: Apache-2.0

/// Detects an MPEG transport stream by the sync bytes of its packets.
struct TransportStreamCheck {
    /// The result so far.
    enum Verdict: Equatable { case transportStream, unknown, other }

    /// Number of consecutive packets whose sync byte must match (ISO/IEC 13818-1, annex G.1).
    private static let packets = 5
    /// Sizes of plain packets, of packets preceded by a time of four bytes (Blu-ray discs), and of packets followed by
    /// a 16-byte checksum (DVB).
    private static let packetSizes = [188, 192, 204]
    private static let sync: UInt8 = 0x47
    /// Number of bytes without a match that rule out a transport stream: a sender may begin in mid-packet, or with some
    /// messages of another kind.
    static let limit = 16 << 10

    /// Judges `bytes`, the first ones of a stream.
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
