// SPDX-License-Identifier: Apache-2.0

internal import Encoder
internal import FanOut
internal import Ingest
internal import Media

/// Passes one track of an input through and encodes the other one, as `--copy-video` and `--copy-audio` request.
struct TrackMix: Sendable {
    /// Takes the packets of both tracks of the input.
    let sink: TranscodingSink
    /// Publishes the packets of the track that is passed through.
    let passed: PassthroughSink
    /// Makes keyframes on request; nil if the video is passed through.
    let keyframes: (any KeyframeRequester)?
    /// How long a frame stays in the encoder; nil if the video is passed through.
    let delay: Duration?
    private let coded: TrackDescription

    /// Creates the mix that `configuration` requests, for an input with the tracks of `stream`. Nil if `configuration`
    /// requests no mix, or if the audio is to be encoded and the input has no audio. Packets go to `hub`. `publisher`
    /// is the heartbeat of the thread that delivers the packets; the heartbeat is suspended while a source that
    /// `canWait` is blocked. Throws ``ChannelFailure``.
    init?(
        _ configuration: ChannelConfiguration, of stream: StreamDescription, canWait: Bool, publisher: Heartbeat,
        into hub: PacketStream
    ) throws(ChannelFailure) {
        let name = "\(configuration.sources[0].input)"
        let kind: TrackKind
        let transcoder: any TrackTranscoder
        var bound = Duration.seconds(2)
        do {
            switch configuration.copying {
            case .video where stream.audio != nil:
                kind = .audio
                transcoder = try AudioTranscoder(bitrate: configuration.encoder.audioBitrate, subject: name)
                (keyframes, delay) = (nil, nil)
            case .audio:
                guard let track = stream.video else {
                    throw ChannelFailure(
                        .inputUnreadable, .openInput(name), saying: "The input \(name) has no video to encode.")
                }
                let video = try VideoTranscoder(
                    configuration.encoder, of: track, size: configuration.size, subject: name)
                let rate = video.description.nominalRate ?? FrameRate(25)
                let length = rate.timeBase.duration(Int64(video.delayInFrames))
                (kind, transcoder, keyframes, delay) = (.video, video, video.keyframes, length)
                // Audio is ahead of the video by the encoder's delay. So the interleaver must wait for video longer
                // than this delay.
                bound = max(bound, length * 2)
            default: return nil
            }
        } catch let failure as ChannelFailure {
            throw failure
        } catch {
            throw ChannelFailure(.internalError, .openEncoder(), because: error)
        }
        coded = transcoder.description
        let awaited = Set([stream.video, stream.audio].compactMap { $0?.kind })
        let interleaver = InterleavingSink(hub, waitingFor: awaited, bound: bound)
        passed = PassthroughSink(interleaver)
        sink = TranscodingSink(
            kind, by: transcoder, copied: passed, coded: interleaver, canWait: canWait, publisher: publisher,
            name: configuration.name)
    }

    /// Returns the tracks that are published for an input with the tracks of `stream`.
    func description(of stream: StreamDescription) -> StreamDescription {
        var mixed = stream
        if coded.kind == .video { mixed.video = coded } else { mixed.audio = coded }
        return mixed
    }
}
