// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Detects media that is missing on the disk: the power failed before the media was written, or a failing disk has lost
/// it. The file then has zeros in its place.
struct PayloadCheck {
    /// The size in bytes of the length field before each NAL unit of the video; nil if the file has no H.264 video.
    private let lengthSize: Int?

    /// The size in bytes of a block of zeros that proves a loss. No NAL unit contains that many zeros, because three
    /// zeros in a row are escaped (H.264, 7.4.1). A lost sector has 512 bytes, so it contains several aligned blocks of
    /// this size wherever it begins.
    private static let block = 64
    /// The maximum size of a sample in bytes. No frame is larger.
    private static let largestSample: UInt32 = 64 << 20

    /// Creates a check for the samples of a file with this `layout`.
    init(_ layout: MovieLayout) {
        let video = layout.tracks.first { $0.kind == .video }
        lengthSize = video.flatMap { try? SampleDescription.lengthSize($0.sampleDescription) }
    }

    /// Whether the media of all `samples` is intact. The samples belong to a track of `kind` and follow each other
    /// without a gap from `offset` on.
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

    /// Whether `bytes` consist of intact NAL units with length fields (ISO/IEC 14496-15, 5.3.4.2).
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
