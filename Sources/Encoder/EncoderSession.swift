// SPDX-License-Identifier: Apache-2.0

internal import LibAV
public import Media
internal import Synchronization

/// What an operator sees of the encoder.
public struct EncoderStatus: Sendable, Codable {
    /// Frames that went in.
    public var framesIn: Int64 = 0
    /// Coded frames that came out.
    public var framesOut: Int64 = 0
    /// Coded bytes, both tracks.
    public var bytes: Int64 = 0
    /// Coded bytes of audio among them.
    public var audioBytes: Int64 = 0
    /// IDR frames that somebody asked for.
    public var forcedKeyframes = 0
    /// Time the encoder needed so far, in seconds of the program's thread.
    public var busySeconds: Double = 0

    /// Nothing encoded yet.
    public init() {}
}

/// The one encoder session of a channel: x264 for the frame, AAC-LC for the audio.
///
/// The program's thread feeds it, and its packets go straight to the sink. Keyframes may be requested and the status
/// be read on any thread, without waiting for the encoder.
public final class EncoderSession: ProgramSink, KeyframeRequester {
    private struct Codecs {
        let video: X264Encoder
        let audio: AACEncoder
    }

    private let codecs: Mutex<Codecs>
    private let schedule: Mutex<KeyframeSchedule>
    private let counters = Mutex(EncoderStatus())
    private let sink: any PacketSink
    private let clock: any MonotonicClock

    /// What comes out, for whoever carries it.
    public let description: StreamDescription
    /// How many frames the encoder holds before the first comes out. A source that can be read ahead is read that
    /// much ahead, so that the encoder's delay costs a viewer nothing.
    public let delayInFrames: Int

    /// Opens both encoders; throws ``EncoderError`` or ``AVFailure``.
    public init(
        settings: EncoderSettings, video: VideoFormat, audio: AudioFormat, sink: any PacketSink,
        clock: any MonotonicClock = SystemClock()
    ) throws {
        let videoEncoder = try X264Encoder(settings: settings, format: video)
        let audioEncoder = try AACEncoder(format: audio, bitrate: settings.audioBitrate)
        let headers = try videoEncoder.headers()
        let bitrate = if case .bitrate(let bits) = settings.rateControl { bits } else { 0 }
        description = StreamDescription(
            video: .init(
                format: video, decoderConfiguration: headers.configuration, bitrate: bitrate,
                reorderDepth: videoEncoder.reorderDepth, encoderSettings: headers.settings),
            audio: .init(
                format: audio, decoderConfiguration: audioEncoder.configuration, bitrate: audioEncoder.bitrate,
                frameLength: audioEncoder.frameLength))
        delayInFrames = videoEncoder.delay
        schedule = Mutex(KeyframeSchedule(frameRate: video.frameRate))
        codecs = Mutex(Codecs(video: videoEncoder, audio: audioEncoder))
        self.sink = sink
        self.clock = clock
    }

    public func requestKeyframe(at programTime: Int64?) {
        schedule.withLock { $0.request(at: programTime) }
    }

    public func encode(_ frame: VideoFrame, at index: Int64) throws {
        let isForced = schedule.withLock { $0.isKeyframeDue(at: index) }
        let started = clock.now
        let packet = try codecs.withLock { try $0.video.encode(frame, at: index, forceKeyframe: isForced) }
        let busy = Double(clock.now - started) / 1e9
        counters.withLock { counters in
            counters.framesIn += 1
            counters.forcedKeyframes += isForced ? 1 : 0
            counters.busySeconds += busy
        }
        if let packet { emit(packet) }
    }

    public func encode(_ audio: AudioBuffer) throws {
        let started = clock.now
        let packets = try codecs.withLock { try $0.audio.encode(audio) }
        let busy = Double(clock.now - started) / 1e9
        counters.withLock { $0.busySeconds += busy }
        for packet in packets { emit(packet) }
    }

    public func finish() throws {
        defer { sink.finish() }
        while let packet = try codecs.withLock({ try $0.video.flush() }) { emit(packet) }
        for packet in try codecs.withLock({ try $0.audio.finish() }) { emit(packet) }
    }

    /// A snapshot for status and metrics.
    public var status: EncoderStatus { counters.withLock { $0 } }

    private func emit(_ packet: EncodedPacket) {
        counters.withLock { counters in
            counters.bytes += Int64(packet.payload.count)
            switch packet.track {
            case .video: counters.framesOut += 1
            case .audio: counters.audioBytes += Int64(packet.payload.count)
            }
        }
        if packet.track == .video, packet.isKeyframe { schedule.withLock { $0.noteKeyframe() } }
        sink.publish(packet)
    }
}
