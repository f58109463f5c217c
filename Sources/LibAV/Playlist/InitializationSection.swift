// SPDX-License-Identifier: Apache-2.0

/// What an initialization section of fragmented MP4 says about the coding of its tracks (ISO/IEC 14496-12, 8.16.5).
/// Two sections are equal if a demuxer that has read one of them can also read the fragments of the other.
///
/// This type is a value, and does no I/O.
struct InitializationSection: Sendable, Hashable {
    /// The properties of one track that its fragments depend on. The times in the boxes are left out, because a server
    /// may write the section again with the current time.
    private struct Track: Sendable, Hashable {
        let id: [UInt8]
        let timescale: [UInt8]
        let descriptions: [UInt8]
    }

    /// The number of bytes before the field that ``field(of:)`` reads: the `FullBox` header and two 32-bit times, or in
    /// version 1 two 64-bit times (8.3.2, 8.4.2).
    private static let bytesBeforeField = (short: 12, long: 20)

    private let tracks: [Track]
    /// The defaults of the fragments (`trex`, 8.8.3).
    private let defaults: [[UInt8]]

    /// Reads `bytes`; nil if they have no movie box with a track.
    init?(_ bytes: [UInt8]) {
        guard let movie = Self.box("moov", in: bytes[...]) else { return nil }
        tracks = Self.boxes(in: movie).filter { $0.type == "trak" }.compactMap { Self.track($0.content) }
        let extends = Self.box("mvex", in: movie) ?? []
        defaults = Self.boxes(in: extends).filter { $0.type == "trex" }.map { Array($0.content) }
        if tracks.isEmpty { return nil }
    }

    private static func track(_ content: ArraySlice<UInt8>) -> Track? {
        guard let header = box("tkhd", in: content), let media = box("mdia", in: content),
            let mediaHeader = box("mdhd", in: media), let information = box("minf", in: media),
            let table = box("stbl", in: information), let descriptions = box("stsd", in: table)
        else { return nil }
        return Track(
            id: field(of: header), timescale: field(of: mediaHeader), descriptions: Array(descriptions))
    }

    /// The 32-bit field that follows the times in a track header or media header.
    private static func field(of header: ArraySlice<UInt8>) -> [UInt8] {
        let start = header.first == 1 ? bytesBeforeField.long : bytesBeforeField.short
        return Array(header.dropFirst(start).prefix(4))
    }

    private static func box(_ type: String, in bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        boxes(in: bytes).first { $0.type == type }?.content
    }

    /// The complete boxes in `bytes` (4.2), up to the first one that is damaged or cut off.
    private static func boxes(in bytes: ArraySlice<UInt8>) -> [(type: String, content: ArraySlice<UInt8>)] {
        var found: [(type: String, content: ArraySlice<UInt8>)] = []
        var rest = bytes
        while rest.count >= 8 {
            let short = number(rest.prefix(4))
            let isLong = short == 1 && rest.count >= 16
            let header = isLong ? 16 : 8
            let size = isLong ? number(rest.dropFirst(8).prefix(8)) : short == 0 ? UInt64(rest.count) : short
            guard size >= UInt64(header), size <= UInt64(rest.count) else { break }
            let type = String(decoding: rest.dropFirst(4).prefix(4), as: UTF8.self)
            found.append((type, rest.prefix(Int(size)).dropFirst(header)))
            rest = rest.dropFirst(Int(size))
        }
        return found
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}
