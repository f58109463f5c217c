// SPDX-License-Identifier: Apache-2.0

/// The fields of an `AudioSpecificConfig`, the header of AAC (ISO/IEC 14496-3, 1.6.2.1).
package struct AACHeader: Sendable, Equatable {
    /// Samples per second after decoding. Spectral band replication counts if the object type (5 or 29) declares it.
    package let sampleRate: Int32
    /// Number of channels after decoding; nil if the channel configuration is 0, which means that a later part of the
    /// `AudioSpecificConfig` describes them.
    package let channels: Int?
    /// Samples per packet: 1024, or 2048 if the object type declares spectral band replication.
    package let frameLength: Int

    private static let rates: [Int32] = [
        96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
    ]

    /// Reads `configuration`, an `AudioSpecificConfig`. Nil if it is too short, if its sample rate is not valid, or if
    /// its channel configuration is not 0 to 7, 11 or 12.
    package init?(configuration: [UInt8]) {
        var bits = HeaderBits(configuration)
        guard var type = bits.read(5) else { return nil }
        if type == 31 {
            guard let more = bits.read(6) else { return nil }
            type = 32 + more
        }
        guard let core = Self.rate(&bits), let layout = bits.read(4), layout <= 7 || (11...12).contains(layout) else {
            return nil
        }
        // With spectral band replication (types 5 and 29), the next field is the sample rate after decoding.
        let isReplicated = type == 5 || type == 29
        guard let rate = isReplicated ? Self.rate(&bits) : core else { return nil }
        sampleRate = rate
        frameLength = isReplicated ? 2048 : 1024
        // Type 29 (parametric stereo) decodes a mono stream to stereo.
        channels = type == 29 && layout == 1 ? 2 : Self.channels(layout)
    }

    private static func rate(_ bits: inout HeaderBits) -> Int32? {
        guard let index = bits.read(4) else { return nil }
        if index == 15 { return bits.read(24).flatMap { $0 > 0 ? Int32($0) : nil } }
        return index < rates.count ? rates[index] : nil
    }

    private static func channels(_ layout: Int) -> Int? {
        switch layout {
        case 0: nil
        case 7, 12: 8
        case 11: 7
        default: layout
        }
    }
}

/// Reads bit fields, most significant bit first.
private struct HeaderBits {
    private let bytes: [UInt8]
    private var place = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The next `count` bits, at most 32; nil if fewer are left.
    mutating func read(_ count: Int) -> Int? {
        guard place + count <= bytes.count * 8 else { return nil }
        defer { place += count }
        var number = 0
        for place in place..<place + count {
            let bit: UInt8 = bytes[place / 8] >> UInt8(7 - place % 8) & 1
            number = number << 1 | Int(bit)
        }
        return number
    }
}
