// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Looks for what a loss of power or a failing disk leaves of media that had not reached the disk: zeros.
struct PayloadCheck {
    /// Bytes of the length in front of each NAL unit of the video; nil if that is not coded as this program codes it.
    private let lengthSize: Int?

    /// Zeros in a row that no NAL unit has, because three are escaped (H.264, 7.4.1). A sector is 512 bytes, so it
    /// holds several aligned blocks of this size wherever it lies.
    private static let block = 64
    /// More than any frame has.
    private static let largestSample: UInt32 = 64 << 20

    /// A check of the samples of a file of `layout`.
    init(_ layout: MovieLayout) {
        let video = layout.tracks.first { $0.kind == .video }
        lengthSize = video.flatMap { try? SampleDescription.lengthSize($0.sampleDescription) }
    }

    /// Whether all `samples` of a track of `kind`, which lie one behind the other from `offset` on, are whole.
    func isWhole(
        _ samples: [SampleEntry], of kind: TrackKind, at offset: Int64, in source: any ByteSource
    ) throws -> Bool {
        var position = offset
        for sample in samples {
            guard sample.size <= Self.largestSample else { return false }
            let bytes = try source.read(at: position, count: Int(sample.size))
            guard bytes.count == Int(sample.size) else { return false }
            let isWhole = kind == .video ? isVideo(bytes) : bytes.count < 8 || bytes.contains { $0 != 0 }
            guard isWhole else { return false }
            position += Int64(sample.size)
        }
        return true
    }

    /// Whether `bytes` are NAL units with their lengths (ISO/IEC 14496-15, 5.3.4.2), none of them lost.
    private func isVideo(_ bytes: [UInt8]) -> Bool {
        guard let lengthSize else { return true }
        var position = 0
        while position < bytes.count {
            guard bytes.count - position > lengthSize else { return false }
            let length = bytes[position..<position + lengthSize].reduce(0) { $0 << 8 | Int($1) }
            position += lengthSize
            guard length > 0, length <= bytes.count - position, bytes[position] != 0 else { return false }
            position += length
        }
        return !Self.hasLostBlock(bytes)
    }

    private static func hasLostBlock(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { bytes in
            stride(from: 0, through: bytes.count - block, by: block).contains { start in
                bytes[start] == 0 && bytes[start..<start + block].allSatisfy { $0 == 0 }
            }
        }
    }
}
