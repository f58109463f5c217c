// SPDX-License-Identifier: Apache-2.0

/// The fields of an `AudioSpecificConfig`, the header of AAC (ISO/IEC 14496-3, 1.6.2.1).
package struct AACHeader: Sendable, Equatable {
    /// Samples per second after decoding. Spectral band replication counts if the object type (5 or 29) declares it.
    package let sampleRate: Int32
    /// Number of channels after decoding; nil if the channel configuration is 0, which means that a later part of the
    /// `AudioSpecificConfig` describes them.
    package let channels: Int?
    /// Samples per packet: 1024 or 960, or 512 or 480 of the types with low delay (23 and 39). Twice as many if the
    /// object type declares spectral band replication.
    package let frameLength: Int

    private static let rates: [Int32] = [
        96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
    ]

    /// Reads `configuration`, an `AudioSpecificConfig`. Nil if it is too short, if its sample rate is not valid, or if
    /// its channel configuration is not 0 to 7 or 11 to 14.
    package init?(configuration: [UInt8]) {
        var bits = HeaderBits(configuration)
        guard let type = Self.objectType(&bits), let core = Self.rate(&bits), let layout = bits.read(4),
            layout <= 7 || (11...14).contains(layout)
        else { return nil }
        // With spectral band replication (types 5 and 29), the next fields are the sample rate after decoding and the
        // object type of the core.
        let isReplicated = type == 5 || type == 29
        guard let rate = isReplicated ? Self.rate(&bits) : core else { return nil }
        sampleRate = rate
        let coreType = isReplicated ? Self.objectType(&bits) : type
        frameLength = Self.frameLength(coreType ?? 0, &bits) * (isReplicated ? 2 : 1)
        // Type 29 (parametric stereo) decodes a mono stream to stereo.
        channels = type == 29 && layout == 1 ? 2 : Self.channels(layout)
    }

    private static func objectType(_ bits: inout HeaderBits) -> Int? {
        guard let type = bits.read(5) else { return nil }
        return type < 31 ? type : bits.read(6).map { 32 + $0 }
    }

    /// The number of samples per packet of a stream whose object type is `type`, before spectral band replication. The
    /// next bit of the configurations of general audio (ISO/IEC 14496-3, 4.4.1) and of enhanced low delay (4.6.20) is
    /// `frameLengthFlag`; a missing bit counts as 0.
    private static func frameLength(_ type: Int, _ bits: inout HeaderBits) -> Int {
        switch type {
        case 1, 2, 3, 4, 6, 7, 17, 19, 20, 21: bits.read(1) == 1 ? 960 : 1024
        case 23, 39: bits.read(1) == 1 ? 480 : 512
        default: 1024
        }
    }

    private static func rate(_ bits: inout HeaderBits) -> Int32? {
        guard let index = bits.read(4) else { return nil }
        if index == 15 { return bits.read(24).flatMap { $0 > 0 ? Int32($0) : nil } }
        return index < rates.count ? rates[index] : nil
    }

    private static func channels(_ layout: Int) -> Int? {
        switch layout {
        case 0: nil
        case 7, 12, 14: 8
        case 11: 7
        case 13: 24
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
