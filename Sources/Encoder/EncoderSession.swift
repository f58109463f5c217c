// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import LibAV
public import Media
internal import Synchronization

/// An encoder session: x264 for the video, AAC-LC for the audio. A channel has one, and one more for each rendition.
///
/// One thread, such as the program's, feeds it, and its packets go straight to the sink. Keyframes may be requested and the status
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
    private let videoThreads: EncoderThreads

    /// What comes out, for whoever carries it.
    public let description: StreamDescription
    /// How many frames the encoder holds before the first comes out. A source that can be read ahead is read that
    /// much ahead, so that the encoder's delay costs a viewer nothing.
    public let delayInFrames: Int

    /// Opens both encoders; throws ``EncoderError`` or ``AVFailure``.
    public init(
        settings: EncoderSettings, video: VideoFormat, audio: AudioFormat, sink: any PacketSink
    ) throws {
        let videoEncoder = try X264Encoder(settings: settings, format: video)
        let audioEncoder = try AACEncoder(format: audio, bitrate: settings.audioBitrate)
        description = StreamDescription(video: videoEncoder.description, audio: audioEncoder.description)
        delayInFrames = videoEncoder.delay
        videoThreads = videoEncoder.threads
        counters.withLock { [parallelism = videoEncoder.parallelism] counters in
            counters.threads = parallelism
            counters.cores = Int(relay_usable_cores())
        }
        schedule = Mutex(KeyframeSchedule(frameRate: video.frameRate))
        codecs = Mutex(Codecs(video: videoEncoder, audio: audioEncoder))
        self.sink = sink
    }

    public func requestKeyframe(at programTime: Int64?) {
        schedule.withLock { $0.request(at: programTime.map(Timestamp.init(nanoseconds:))) }
    }

    /// Says at which sample of the program the audio begins: at 0 otherwise. Before any of it.
    package func beginAudio(at sample: SampleIndex) { codecs.withLock { $0.audio.begin(at: sample.number) } }

    public func encode(_ frame: VideoFrame, at index: Int64) throws {
        let isForced = schedule.withLock { $0.isKeyframeDue(at: FrameIndex(index)) }
        let started = ThreadTime.current
        let packet = try codecs.withLock { try $0.video.encode(frame, at: index, forceKeyframe: isForced) }
        let spent = ThreadTime.current - started
        counters.withLock { counters in
            counters.framesIn += 1
            counters.forcedKeyframes += isForced ? 1 : 0
            counters.callerSeconds += spent
        }
        if let packet { emit(packet) }
    }

    public func encode(_ audio: AudioBuffer) throws {
        let started = ThreadTime.current
        let packets = try codecs.withLock { try $0.audio.encode(audio) }
        let spent = ThreadTime.current - started
        counters.withLock { $0.callerSeconds += spent }
        for packet in packets { emit(packet) }
    }

    public func finish() throws {
        defer { sink.finish() }
        while let packet = try codecs.withLock({ try $0.video.flush() }) { emit(packet) }
        for packet in try codecs.withLock({ try $0.audio.finish() }) { emit(packet) }
    }

    /// A snapshot for status and metrics.
    public var status: EncoderStatus {
        var status = counters.withLock { $0 }
        status.threadSeconds = videoThreads.seconds
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
        if packet.track == .video, packet.isKeyframe { schedule.withLock { $0.noteKeyframe() } }
        sink.publish(packet)
    }
}
