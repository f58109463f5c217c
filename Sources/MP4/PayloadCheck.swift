// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Detects what a power loss or a failing disk leaves of media that had not reached the disk: zeros.
struct PayloadCheck {
    /// Size of the length before each NAL unit of the video, in bytes; nil if relay did not encode it.
    private let lengthSize: Int?

    /// A run of zeros that no NAL unit contains, because three zeros are escaped (H.264, 7.4.1). A sector has 512
    /// bytes, so it contains several aligned blocks of this size at any offset.
    private static let block = 64
    /// More bytes than any frame has.
    private static let largestSample: UInt32 = 64 << 20

    /// A check for the samples of a file with `layout`.
    init(_ layout: MovieLayout) {
        let video = layout.tracks.first { $0.kind == .video }
        lengthSize = video.flatMap { try? SampleDescription.lengthSize($0.sampleDescription) }
    }

    /// Whether all `samples` of a track of `kind`, contiguous from `offset` on, are intact.
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

    /// Whether `bytes` are NAL units with their lengths (ISO/IEC 14496-15, 5.3.4.2), all of them intact.
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
