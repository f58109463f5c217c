// SPDX-License-Identifier: Apache-2.0

package import Media

extension MovieLayout.Track {
    /// Reads the coding of a video track from its `stsd`. Throws ``MP4Failure`` for codecs other than H.264, HEVC and
    /// AV1.
    package func video() throws(MP4Failure) -> TrackDescription {
        var whole = BoxReader(sampleDescription[...])
        var stsd = try whole.box().body
        _ = try stsd.take(8)
        let entry = try stsd.box()
        let (codec, name): (Codec, String)
        switch entry.type {
        case "avc1": (codec, name) = (.h264, "avcC")
        case "hvc1", "hev1": (codec, name) = (.hevc, "hvcC")
        case "av01": (codec, name) = (.av1, "av1C")
        default: throw MP4Failure(description: "its frames are coded in an unknown way")
        }
        // The fields of a VisualSampleEntry (ISO/IEC 14496-12, 12.1.3).
        var fields = entry.body
        _ = try fields.take(24)
        let (width, height) = (Int(try fields.u16()), Int(try fields.u16()))
        _ = try fields.take(50)
        guard width > 0, height > 0 else { throw MP4Failure(description: "its frames have no size") }
        var (aspect, color) = (SampleAspectRatio.square, ColorDescription.unspecified)
        for box in try fields.boxes() {
            if box.type == "pasp" { aspect = try Self.aspect(box.body) }
            if box.type == "colr" { color = try Self.color(box.body) ?? color }
        }
        return TrackDescription(
            video: codec,
            frames: FrameFormat(width: width, height: height, sampleAspectRatio: aspect, color: color),
            timeBase: TimeBase(1, Int32(clamping: timescale)),
            decoderConfiguration: SharedBytes(Array(try fields.first(name).rest)))
    }

    private static func aspect(_ body: BoxReader) throws(MP4Failure) -> SampleAspectRatio {
        var body = body
        let (across, down) = (try body.u32(), try body.u32())
        guard (1...65_535).contains(across), (1...65_535).contains(down) else { return .square }
        return SampleAspectRatio(Int32(across), Int32(down))
    }

    /// The code points of a `colr` of type `nclx` (ISO/IEC 14496-12, 12.1.5).
    private static func color(_ body: BoxReader) throws(MP4Failure) -> ColorDescription? {
        var body = body
        guard try body.code() == "nclx" else { return nil }
        let (primaries, transfer, matrix) = (try body.u16(), try body.u16(), try body.u16())
        return ColorDescription(
            primaries: UInt8(clamping: primaries), transfer: UInt8(clamping: transfer), matrix: UInt8(clamping: matrix),
            isFullRange: (try body.take(1).first ?? 0) & 0x80 != 0)
    }
}
