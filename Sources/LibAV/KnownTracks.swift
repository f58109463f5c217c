// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
internal import Media

/// The tracks that an input had when it was last opened. If the input has the same tracks when it is opened again, it
/// needs little probing.
///
/// This type is used only for transport streams: libavformat probes 5 s of each, because further tracks could appear.
/// Other formats list their tracks in a header, or are probed until all tracks are known.
package struct KnownTracks: Sendable {
    /// How much of an input with known tracks is probed, in microseconds of media.
    private static let briefProbe: Int64 = 500_000
    /// The number of frames from which the frame rate is measured, so that another sender's rate is noticed.
    private static let briefFrames: Int32 = 3

    private let streams: [StreamInfo]
    /// The indices of the best video and audio stream; nil for a kind without a stream.
    let (video, audio): (Int?, Int?)

    /// Stores the tracks of the input that `demuxer` has opened.
    package init(of demuxer: Demuxer) {
        streams = demuxer.streams
        (video, audio) = (demuxer.bestVideo?.index, demuxer.bestAudio?.index)
    }

    /// Whether `context`, an input whose header was read, has the known tracks, with the same PIDs and codecs and in
    /// the same order. Always false for other formats than MPEG-TS.
    func areTracks(of context: UnsafeMutablePointer<AVFormatContext>) -> Bool {
        guard let format = context.pointee.iformat, String(cString: format.pointee.name) == "mpegts" else {
            return false
        }
        var found: [Track] = []
        for index in 0..<Int(context.pointee.nb_streams) {
            guard let stream = context.pointee.streams?[index], let parameters = stream.pointee.codecpar else {
                return false
            }
            let type = parameters.pointee.codec_type
            guard type == AVMEDIA_TYPE_VIDEO || type == AVMEDIA_TYPE_AUDIO else { continue }
            found.append(Track(index: index, id: Int(stream.pointee.id), codec: parameters.pointee.codec_id.rawValue))
        }
        let known = streams.map {
            Track(index: $0.index, id: $0.id, codec: $0.parameters.pointer.pointee.codec_id.rawValue)
        }
        return !found.isEmpty && found == known
    }

    private struct Track: Equatable {
        let index: Int
        let id: Int
        let codec: UInt32
    }

    /// Makes libavformat probe only until it knows the properties of the tracks and has seen ``briefFrames``, and at most
    /// ``briefProbe`` of the input. It does not look for further tracks.
    func shortenProbe(of context: UnsafeMutablePointer<AVFormatContext>) {
        context.pointee.max_analyze_duration = Self.briefProbe
        context.pointee.ctx_flags &= ~AVFMTCTX_NOHEADER
        context.pointee.fps_probe_size = Self.briefFrames
    }

    /// Adds to the streams of `context` the known properties that the brief probing did not find out. The known frame
    /// rates replace similar ones, because brief probing measures them less exactly. A measured rate that is clearly
    /// different stays: it is the rate of another sender, or of new settings.
    func complete(_ context: UnsafeMutablePointer<AVFormatContext>, subject: String) throws(AVFailure) {
        for known in streams where known.index < Int(context.pointee.nb_streams) {
            guard let stream = context.pointee.streams?[known.index], let parameters = stream.pointee.codecpar else {
                continue
            }
            let values = parameters.pointee
            let isComplete =
                known.kind == .video
                ? values.width > 0 && values.height > 0
                : values.sample_rate > 0 && relay_parameters_channels(parameters) > 0
            if !isComplete {
                try AVFailure.check(
                    avcodec_parameters_copy(parameters, known.parameters.pointer), "describe", subject)
            }
            guard let video = known.video, !Self.isAnother(stream.pointee.avg_frame_rate, than: video.averageRate)
            else {
                continue
            }
            if let rate = video.averageRate {
                stream.pointee.avg_frame_rate = AVRational(num: rate.numerator, den: rate.denominator)
            }
            if let rate = video.baseRate {
                stream.pointee.r_frame_rate = AVRational(num: rate.numerator, den: rate.denominator)
            }
        }
    }

    /// Whether brief probing measured a rate that differs from `known` by more than the error of this measurement.
    private static func isAnother(_ measured: AVRational, than known: FrameRate?) -> Bool {
        guard let measured = measured.asFrameRate, let known else { return false }
        return !(0.9...1.1).contains(measured.value / known.value)
    }
}
