// SPDX-License-Identifier: Apache-2.0

/// The shape of the window with which a packet of AAC was encoded. The shape must match the shapes of the neighbouring
/// packets, because each half of a decoded packet is added to a half of its neighbour (ISO/IEC 14496-3, 4.6.11).
struct AACWindow: Equatable {
    /// Whether the packet has one long window with long slopes on both sides (`ONLY_LONG_SEQUENCE`).
    let isLong: Bool
    /// Whether the window's slope is Kaiser-Bessel-derived rather than a sine.
    let isKaiser: Bool

    /// How many bytes of a packet are needed to read its window.
    static let headerSize: Int64 = 4

    /// The window of the packet that begins with the bytes `packet`; nil unless the packet begins with a single
    /// channel, or with a pair of channels that have one common window (4.4.2.1).
    init?(_ packet: [UInt8]) {
        guard packet.count >= 3 else { return nil }
        let bits = packet[0..<3].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        func field(_ place: Int, _ width: Int) -> UInt32 {
            bits >> UInt32(24 - place - width) & (1 << UInt32(width) - 1)
        }
        switch field(0, 3) {
        // single_channel_element: the window follows a tag, the gain and a reserved bit.
        case 0: (isLong, isKaiser) = (field(16, 2) == 0, field(18, 1) == 1)
        // channel_pair_element: the window follows a tag, the bit that says that both channels have a common window,
        // and a reserved bit.
        case 1 where field(7, 1) == 1: (isLong, isKaiser) = (field(9, 2) == 0, field(11, 1) == 1)
        default: return nil
        }
    }
}
