// SPDX-License-Identifier: Apache-2.0

package import Media

/// Makes JPEG files of coded frames, with square pixels and the colors of JPEG files (JFIF: BT.601, full range).
///
/// Each call has its own decoder and encoder. It takes about as long as it takes to decode the given frames and to
/// scale one. Any thread that may block can call it. The caller limits how many calls run at a time.
package enum Snapshot {
    /// The supported widths.
    package static let widths = 32...1920

    /// The quality on libavcodec's scale. It equals about 85 on the scale of other programs.
    private static let quality: Int32 = 4
    private static let subject = "a snapshot"

    /// Returns the JPEG file of `keyframe`, `width` columns wide, limited to ``widths`` and rounded up to an even
    /// number. Without `width` it is as wide as the frame, but not wider than ``widths`` allows. Throws if the packet
    /// is not a keyframe that can be decoded alone.
    package static func jpeg(of keyframe: EncodedPacket, width: Int? = nil) throws(AVFailure) -> [UInt8] {
        let decoder = try Decoder(keyframe.description, subject: subject)
        try decoder.send(coded: keyframe)
        try decoder.send(nil)
        guard case .frame(let decoded) = try decoder.receive() else { throw nothing }
        return try jpeg(of: decoded, keyframe.description, width: width)
    }

    /// Returns the JPEG file of the frame with the presentation time `pts`. `next` returns the packets of `track` that
    /// this frame needs, in decoding order from a keyframe, and then nil. Errors of `next` are thrown, too.
    package static func jpeg(
        of track: TrackDescription, at pts: Int64, width: Int? = nil, next: () throws -> EncodedPacket?
    ) throws -> [UInt8] {
        let decoder = try Decoder(track, subject: subject)
        while true {
            switch try decoder.receive() {
            case .frame(let decoded):
                if decoded.pts == pts { return try jpeg(of: decoded, track, width: width) }
            case .needsPacket:
                if let packet = try next() { try decoder.send(coded: packet) } else { try decoder.send(nil) }
            case .ended: throw nothing
            }
        }
    }

    private static func jpeg(
        of decoded: DecodedFrame, _ track: TrackDescription, width: Int?
    ) throws(AVFailure) -> [UInt8] {
        let target = format(of: decoded, track, width: width)
        let converter = try FrameConverter(track, target: target, subject: subject)
        var found: VideoFrame?
        try converter.convert(decoded, pts: 0) { found = found ?? $0 }
        try converter.finish { found = found ?? $0 }
        guard let found else { throw nothing }
        return try JPEGEncoder(width: target.width, height: target.height, quality: quality).encode(found)
    }

    /// Returns the JPEG file of `frame`, which has square pixels and the color description `color`. Its matrix must be
    /// specified: an unspecified one is that of BT.709, whatever the size of the frame is.
    package static func jpeg(of frame: VideoFrame, color: ColorDescription) throws(AVFailure) -> [UInt8] {
        try JPEGEncoder(width: frame.width, height: frame.height, quality: quality)
            .encode(frame, colors: JPEGColors(from: color))
    }

    private static var nothing: AVFailure {
        AVFailure(operation: "decode", subject: subject, code: AVFailure.invalidData)
    }

    /// The format of the JPEG file: square pixels, and `width` columns.
    private static func format(of decoded: DecodedFrame, _ track: TrackDescription, width: Int?) -> VideoFormat {
        let aspect = track.frameFormat?.sampleAspectRatio ?? .square
        let shown = Double(decoded.width) * Double(aspect.horizontal) / Double(max(1, aspect.vertical))
        let wanted = min(max(width ?? Int(min(shown, 8192).rounded()), widths.lowerBound), widths.upperBound)
        let height = Double(decoded.height) * Double(wanted) / max(1, shown)
        var color = ColorDescription.bt601With525Lines
        color.isFullRange = true
        return VideoFormat(
            width: (wanted + 1) & ~1, height: min(max(Int(height / 2 + 0.5) * 2, 16), 4096),
            frameRate: track.nominalRate ?? FrameRate(25, 1), color: color)
    }
}
