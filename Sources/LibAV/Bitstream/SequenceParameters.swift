// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The fields of an SPS that decoder configurations and track descriptions need.
struct SequenceParameters: Equatable {
    /// Columns after cropping.
    var width = 0
    /// Rows after cropping.
    var height = 0
    /// The chroma format: 0 is monochrome, 1 is 4:2:0, 2 is 4:2:2, 3 is 4:4:4.
    var chroma: UInt32 = 1
    var lumaDepth: UInt32 = 8
    var chromaDepth: UInt32 = 8
    /// For HEVC: the number of temporal sub-layers minus one, and whether they are nested.
    var subLayers: UInt32 = 0
    var isNested = false

    /// Luma columns and rows per cropping unit (ITU-T H.264, table 6-1).
    private var cropUnit: (width: Int, height: Int) {
        switch chroma {
        case 1: (2, 2)
        case 2: (2, 1)
        default: (1, 1)
        }
    }

    private mutating func crop(_ reader: inout BitReader, rows: Int = 1) {
        let edges = (0..<4).map { _ in Int(reader.golomb()) }
        width -= (edges[0] + edges[1]) * cropUnit.width
        height -= (edges[2] + edges[3]) * cropUnit.height * rows
    }

    /// Reads a bit depth, which is coded as its difference to 8. Returns 17 for every invalid value.
    private static func depth(_ reader: inout BitReader) -> UInt32 { 8 + min(reader.golomb(), 9) }

    /// Whether width and height are in the range that relay supports.
    private var isValid: Bool { (1...16_384).contains(width) && (1...16_384).contains(height) }
}

extension SequenceParameters {
    /// Profiles whose SPS contains the chroma format and bit depths (ITU-T H.264, 7.3.2.1.1).
    static let highProfiles: Set<UInt8> = [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]

    /// Reads an H.264 SPS (7.3.2.1.1); nil if `unit` is not a valid one.
    init?(avc unit: ArraySlice<UInt8>) {
        guard unit.count > 4 else { return nil }
        var reader = BitReader(unit, header: 1)
        let profile = UInt8(reader.bits(8))
        reader.skip(16)
        _ = reader.golomb()
        if Self.highProfiles.contains(profile) {
            chroma = reader.golomb()
            if chroma == 3 { reader.skip(1) }
            lumaDepth = Self.depth(&reader)
            chromaDepth = Self.depth(&reader)
            reader.skip(1)
            if reader.flag() { Self.skipScalingLists(&reader, count: chroma == 3 ? 12 : 8) }
        }
        _ = reader.golomb()
        switch reader.golomb() {
        case 0: _ = reader.golomb()
        case 1:
            reader.skip(1)
            _ = reader.signedGolomb()
            _ = reader.signedGolomb()
            let count = reader.golomb()
            guard count < 256 else { return nil }
            for _ in 0..<count { _ = reader.signedGolomb() }
        default: break
        }
        _ = reader.golomb()
        reader.skip(1)
        width = (Int(reader.golomb()) + 1) * 16
        let units = (Int(reader.golomb()) + 1) * 16
        let hasFramesOnly = reader.flag()
        height = hasFramesOnly ? units : 2 * units
        if !hasFramesOnly { reader.skip(1) }
        reader.skip(1)
        if reader.flag() { crop(&reader, rows: hasFramesOnly ? 1 : 2) }
        guard !reader.isExhausted, isValid, chroma < 4, lumaDepth < 17, chromaDepth < 17 else { return nil }
    }

    private static func skipScalingLists(_ reader: inout BitReader, count: Int) {
        for list in 0..<count where reader.flag() {
            var (last, next) = (8, 8)
            for _ in 0..<(list < 6 ? 16 : 64) where next != 0 {
                next = (last + Int(reader.signedGolomb()) + 256) & 255
                last = next == 0 ? last : next
            }
        }
    }

    /// Reads an HEVC SPS (ITU-T H.265, 7.3.2.2.1); nil if `unit` is not a valid one.
    init?(hevc unit: ArraySlice<UInt8>) {
        guard unit.count > 15 else { return nil }
        var reader = BitReader(unit, header: 2)
        reader.skip(4)
        subLayers = reader.bits(3)
        // Valid values are 0 to 6 (7.4.3.2.1).
        guard subLayers < 7 else { return nil }
        isNested = reader.flag()
        // The general profile and level have 96 bits (7.3.3).
        reader.skip(96)
        Self.skipSubLayers(&reader, Int(subLayers))
        _ = reader.golomb()
        chroma = reader.golomb()
        if chroma == 3 { reader.skip(1) }
        (width, height) = (Int(reader.golomb()), Int(reader.golomb()))
        if reader.flag() { crop(&reader) }
        lumaDepth = Self.depth(&reader)
        chromaDepth = Self.depth(&reader)
        guard !reader.isExhausted, isValid, chroma < 4, lumaDepth < 17, chromaDepth < 17 else { return nil }
    }

    private static func skipSubLayers(_ reader: inout BitReader, _ count: Int) {
        guard count > 0 else { return }
        let present = (0..<count).map { _ in (profile: reader.flag(), level: reader.flag()) }
        reader.skip(2 * (8 - count))
        for layer in present { reader.skip((layer.profile ? 88 : 0) + (layer.level ? 8 : 0)) }
    }
}
