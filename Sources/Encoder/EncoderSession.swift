// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import LibAV
package import Logging
package import Media
internal import Synchronization

/// Encodes video with x264, and audio as AAC-LC; without video, the audio alone. A session is opened for the program,
/// for each rendition, for each source that is encoded for its recording, and for the slate of a program that is passed
/// through.
///
/// One thread, such as the program's, passes frames and audio to the session, and the session's packets go directly to
/// the sink. Any thread can request keyframes and read the status without waiting for the encoder. A frame that an
/// encoder refuses is lost and counted; the first refused frame of each track is logged. If an encoder refuses too many
/// frames, the call throws.
///
/// ```swift
/// let session = try EncoderSession(settings: EncoderSettings(), video: .usual, audio: .program, sink: stream)
/// try session.encode(frame, at: 0)
/// try session.encode(audio)
/// try session.finish()
/// ```
package final class EncoderSession: ProgramSink, KeyframeRequester {
    private struct Codecs {
        let video: RestartingEncoder?
        let audio: AACEncoder
    }

    private let codecs: Mutex<Codecs>
    private let schedule: Mutex<KeyframeSchedule?>
    private let counters = Mutex(EncoderStatus())
    /// Number of refused frames counted so far, by track.
    private let refused = Mutex<[TrackKind: Int64]>([:])
    private let threadTime: EncoderThreadTime?
    private let sink: any PacketSink
    private let logger: Logger

    /// How the video and audio packets of this session are coded, for outputs.
    package let description: StreamDescription
    /// The number of frames that the encoder holds before its first output. If the source can be read ahead, it is read
    /// ahead by this many frames, so that the encoder adds no delay for viewers.
    package let delayInFrames: Int

    /// Opens an encoder of `video`, unless that is nil, and one of `audio`; throws ``EncoderError`` or ``AVFailure``.
    package init(
        settings: EncoderSettings, video: VideoFormat?, audio: AudioFormat, sink: any PacketSink,
        logger: Logger = Logger(label: "relay.encoder", factory: { _ in SwiftLogNoOpLogHandler() })
    ) throws {
        self.logger = logger
        let videoEncoder = try video.map { try RestartingEncoder(settings: settings, format: $0) }
        let audioEncoder = try AACEncoder(format: audio, bitrate: settings.audioBitrate)
        description = StreamDescription(video: videoEncoder?.session.description, audio: audioEncoder.description)
        delayInFrames = videoEncoder?.session.delay ?? 0
        threadTime = videoEncoder?.threadTime
        counters.withLock { [parallelism = videoEncoder?.session.parallelism] counters in
            counters.threads = parallelism ?? counters.threads
            counters.cores = Int(relay_usable_cores())
        }
        schedule = Mutex(video.map { KeyframeSchedule(frameRate: $0.frameRate) })
        codecs = Mutex(Codecs(video: videoEncoder, audio: audioEncoder))
        self.sink = sink
    }

    package func requestKeyframe(at programTime: ProgramInstant?) {
        schedule.withLock { $0?.request(at: programTime) }
    }

    /// Sets the program sample at which the audio begins; without this call, the audio begins at sample 0. Call it
    /// before the first audio.
    package func beginAudio(at sample: SampleIndex) { codecs.withLock { $0.audio.begin(at: sample.number) } }

    /// Encodes a frame; ignores it in a session without video.
    package func encode(_ frame: VideoFrame, at index: Int64) throws {
        let isForced = schedule.withLock { $0?.isKeyframeDue(at: FrameIndex(index)) ?? false }
        let started = ThreadTime.current
        let coded = try codecs.withLock { codecs in
            try codecs.video.map { video in
                (try video.encode(frame, at: index, forceKeyframe: isForced), video.refused, video.forcedKeyframes)
            }
        }
        guard let (packet, refused, forced) = coded else { return }
        let spent = ThreadTime.current - started
        counters.withLock { counters in
            counters.framesIn += 1
            counters.forcedKeyframes = forced
            counters.callerSeconds += spent
        }
        if let reason = refused.reason { count(refused.frames, .video, reason) }
        if let packet { emit(packet) }
    }

    package func encode(_ audio: AudioBuffer) throws {
        let started = ThreadTime.current
        let (packets, refused) = try codecs.withLock { (try $0.audio.encode(audio), $0.audio.refused) }
        let spent = ThreadTime.current - started
        counters.withLock { $0.callerSeconds += spent }
        if let reason = refused.reason { count(refused.frames, .audio, reason) }
        for packet in packets { emit(packet) }
    }

    /// Updates the number of refused frames of a track to `frames`, and logs the track's first refusal.
    private func count(_ frames: Int64, _ track: TrackKind, _ reason: any Error) {
        let before = refused.withLock { refused in
            defer { refused[track] = frames }
            return refused[track] ?? 0
        }
        counters.withLock { $0.refusedFrames += frames - before }
        guard before == 0 else { return }
        logger.warning(
            "the \(track.rawValue) encoder refused a frame, which is left out; others will only be counted",
            metadata: ["reason": "\(reason)"])
    }

    package func finish() throws {
        defer { sink.finish() }
        while let packet = try codecs.withLock({ try $0.video?.flush() }) { emit(packet) }
        for packet in try codecs.withLock({ try $0.audio.finish() }) { emit(packet) }
    }

    /// A snapshot for status and metrics.
    package var status: EncoderStatus {
        var status = counters.withLock { $0 }
        status.threadSeconds = threadTime?.seconds ?? 0
        status.processSeconds = ThreadTime.process
        return status
    }

    private func emit(_ packet: EncodedPacket) {
        counters.withLock { counters in
            counters.bytes += Int64(packet.payload.count)
            switch packet.track {
            case .video:
                counters.framesOut += 1
                counters.keyframes += packet.isKeyframe ? 1 : 0
            case .audio: counters.audioBytes += Int64(packet.payload.count)
            case .data: break
            }
        }
        if packet.track == .video, packet.isKeyframe { schedule.withLock { $0?.noteKeyframe() } }
        sink.publish(packet)
    }
}
