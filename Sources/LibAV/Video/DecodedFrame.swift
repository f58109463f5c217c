// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media

/// One decoded video frame or audio frame, in the memory of the library that decoded it; owns an `AVFrame`.
///
/// The frame is filled before other threads see it, and never changes afterwards. So any thread may read it.
package final class DecodedFrame: FrameStorage {
    // A decoder or a filter fills the frame before another thread holds the object. From then on the frame is
    // read-only. `deinit` frees it.
    nonisolated(unsafe) let frame: UnsafeMutablePointer<AVFrame>

    init(subject: String) throws(AVFailure) {
        frame = try AVFailure.unwrap(av_frame_alloc(), "allocate a frame for", subject)
    }

    deinit {
        var owned: UnsafeMutablePointer<AVFrame>? = frame
        av_frame_free(&owned)
    }

    /// Presentation time in ticks of the stream's time base: libav's best estimate or, without one, the coded time; nil
    /// if neither exists.
    package var pts: Int64? { frame.pointee.best_effort_timestamp.asTimestamp ?? frame.pointee.pts.asTimestamp }
    /// Columns of a video frame.
    package var width: Int { Int(frame.pointee.width) }
    /// Rows of a video frame.
    package var height: Int { Int(frame.pointee.height) }
    /// Samples per second, for audio.
    package var sampleRate: Int { Int(frame.pointee.sample_rate) }
    /// Samples per channel, for audio.
    package var sampleCount: Int { Int(frame.pointee.nb_samples) }
    /// Number of channels, for audio.
    var channelCount: Int { Int(relay_frame_channels(frame)) }
    /// Whether the decoder concealed errors in this frame, or marked it as damaged, or replaced invalid audio samples.
    package var isDamaged: Bool {
        frame.pointee.decode_error_flags != 0 || frame.pointee.flags & AV_FRAME_FLAG_CORRUPT != 0
    }

    /// Passes the planes of a 4:2:0 frame to `body`. For any other format the planes are meaningless.
    package func withPlanes<R>(_ body: (Planes) throws -> R) rethrows -> R {
        let data = frame.pointee.data
        let stride = frame.pointee.linesize
        guard let y = data.0, let u = data.1, let v = data.2 else {
            preconditionFailure("only a frame that was checked to be planar 4:2:0 is handed out as frame storage")
        }
        return try body(
            Planes(
                y: .init(bytes: y, stride: Int(stride.0)), u: .init(bytes: u, stride: Int(stride.1)),
                v: .init(bytes: v, stride: Int(stride.2))))
    }

    /// The frame's closed captions, in the form of ``Media/VideoFrame/captions``.
    var captions: [UInt8] {
        guard let side = av_frame_get_side_data(frame, AV_FRAME_DATA_A53_CC), let data = side.pointee.data else {
            return []
        }
        return Array(UnsafeBufferPointer(start: data, count: Int(side.pointee.size) / 3 * 3))
    }

    var pixelFormat: AVPixelFormat { AVPixelFormat(rawValue: frame.pointee.format) }

    /// Whether the planes can be read as 8-bit planar 4:2:0, top row first.
    var isPlanar420: Bool {
        (pixelFormat == AV_PIX_FMT_YUV420P || pixelFormat == AV_PIX_FMT_YUVJ420P)
            && frame.pointee.linesize.0 > 0 && frame.pointee.linesize.1 > 0 && frame.pointee.linesize.2 > 0
    }
}
