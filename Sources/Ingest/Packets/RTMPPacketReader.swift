// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media
internal import RTMP

/// Converts the messages of one publication to packets that are passed on without re-encoding. This is a value without
/// I/O of its own. When it reads a new video configuration, it decodes one frame.
struct RTMPPacketReader {
    /// The known tracks and their codecs.
    private(set) var stream = StreamDescription()
    /// The reasons why media of this publication cannot be passed on, for the log. Each reason is listed once.
    private(set) var complaints: [String] = []

    /// The audio tracks other than the first; only the first is carried.
    private(set) var uncarriedTracks: [String] = []

    private var metadata: [String: AMF0Value] = [:]
    /// The newest video configuration, converted to NAL unit lengths of 4 bytes. Nil once the configuration was read;
    /// reading it requires the first keyframe after it.
    private var configuration: [UInt8]?
    /// Whether frames have come before the keyframe that is needed to read their configuration.
    private var hasUndescribedFrames = false
    private var meter = FrameRateMeter()
    /// The size of the length fields before the NAL units in the sender's current frames.
    private var lengths = UnitLengths()
    /// The times of the video, in milliseconds. The sender's composition times may be negative.
    private var times = DecodingTimes(in: .milliseconds)

    /// Whether an expected track is still missing: a track that the sender announced, or video or audio if the sender
    /// announced neither. Video counts as missing even if only audio was announced, because GStreamer's muxer announces
    /// audio before it knows of the video.
    var isMissingTrack: Bool {
        let (video, audio) = (metadata["videocodecid"] != nil, metadata["audiocodecid"] != nil)
        return stream.video == nil || stream.audio == nil && (audio || !video)
    }

    /// Whether video frames arrive that cannot be described before the next keyframe.
    var awaitsKeyframe: Bool { stream.video == nil && hasUndescribedFrames }

    /// Whether the frame rate is still being measured, because the sender did not announce it.
    var isMeasuringRate: Bool { stream.video.map { $0.nominalRate == nil && !meter.isDone } ?? false }

    /// The known tracks, with the measured frame rate if the sender announced none.
    var measuredStream: StreamDescription {
        var measured = stream
        if let video = stream.video, video.nominalRate == nil, let rate = meter.rate {
            measured.video = video.rated(rate)
        }
        return measured
    }

    /// Whether the sender has announced a track that is still missing.
    var announcesMissingTrack: Bool {
        let video = configuration != nil || metadata["videocodecid"] != nil
        return stream.video == nil && video || stream.audio == nil && metadata["audiocodecid"] != nil
    }

    /// Whether this reader and `other`, an earlier or later state of the same reader, know the same about the tracks.
    func knowsAsMuch(as other: RTMPPacketReader) -> Bool {
        stream.isIdentical(to: other.stream) && isMissingTrack == other.isMissingTrack
            && isMeasuringRate == other.isMeasuringRate
    }

    /// The packet in `message`, with times in the sender's milliseconds; nil if the message contains no packet that can
    /// be decoded.
    mutating func read(_ message: RTMPPublishedMessage) -> EncodedPacket? {
        let time = Int64(message.timestamp)
        switch message.content {
        case .video(let video): return read(video, at: time)
        case .audio(let audio): return read(audio, at: time)
        case .metadata(let properties):
            metadata = properties
            return nil
        case .data: return nil
        case .unsupported(let what):
            complain("\(what) is not carried")
            return nil
        case .otherTracks(let tracks):
            leaveOut(tracks)
            return nil
        }
    }

    private mutating func read(_ video: FLVVideo, at time: Int64) -> EncodedPacket? {
        let codec: Codec =
            switch video.codec {
            case .avc: .h264
            case .hevc: .hevc
            case .av1: .av1
            }
        switch video.content {
        case .configuration(let bytes):
            let record = bytes.array
            guard let lengths = UnitLengths(record: record, codec) else {
                complain("the \(codec) configuration cannot be read")
                return nil
            }
            let new = UnitLengths.widened(record: record, codec)
            self.lengths = lengths
            configuration = new == stream.video?.decoderConfiguration.array ? nil : new
            return nil
        case .frame(let bytes, let isKeyframe, let isDisposable, let offset):
            guard var payload = lengths.widened(bytes) else { return nil }
            if let new = configuration {
                if isKeyframe {
                    describe(codec, by: payload, offset: Int64(offset))
                } else {
                    // The new configuration takes effect with the next keyframe. The frames before that keyframe need
                    // some of the new parameter sets, which are inserted into their payloads.
                    guard let track = stream.video, track.codec == codec,
                        let whole = ConfigurationRecord.payload(
                            payload, from: track.decoderConfiguration, to: new, codec)
                    else {
                        hasUndescribedFrames = true
                        return nil
                    }
                    payload = whole
                }
            }
            guard let track = stream.video, track.codec == codec else {
                hasUndescribedFrames = true
                return nil
            }
            meter.note(time)
            let (pts, dts) = times.place(time, offset: Int64(offset))
            return EncodedPacket(
                of: track, pts: pts, dts: dts, duration: 0, isKeyframe: isKeyframe,
                isDisposable: isDisposable || codec == .h264 && AccessUnit.isDisposable(payload), payload: payload)
        case .end: return nil
        }
    }

    /// Reads the pending configuration with the help of the keyframe `payload`. The keyframe is shown `offset`
    /// milliseconds after the sender's decoding time.
    private mutating func describe(_ codec: Codec, by payload: SharedBytes, offset: Int64) {
        guard let record = configuration else { return }
        configuration = nil
        do throws(AVFailure) {
            let shape = try CodedShape(
                of: codec, configuration: record, keyframe: payload, subject: "the published \(codec)")
            let rate = announcedRate
            stream.video = shape.track(
                codec, configuration: record, timeBase: .milliseconds, bitrate: bitrate("videodatarate"),
                nominalRate: rate)
            times.prepare(for: shape.reorderDepth, at: rate ?? FrameRate(25), offset: offset)
        } catch {
            complain("\(error)")
        }
    }

    /// The frame rate that the sender announced, if it is plausible.
    private var announcedRate: FrameRate? {
        let rate = number("framerate")
        return (1...1000).contains(rate) ? FrameRate(Int32((rate * 1000).rounded()), 1000) : nil
    }

    private mutating func read(_ audio: FLVAudio, at time: Int64) -> EncodedPacket? {
        leaveOut(audio.otherTracks)
        switch audio.content {
        case .configuration(let bytes):
            describe(audio.codec, by: bytes.array)
            return nil
        case .frame(let payload):
            describe(audio.codec, byFrame: payload)
            guard let track = stream.audio, track.codec == audio.codec.carried, let format = track.audioFormat else {
                return nil
            }
            let duration = format.timeBase.rescale(Int64(track.frameLength), to: .milliseconds)
            return EncodedPacket(
                of: track, pts: time, dts: time, duration: duration, isKeyframe: true, payload: payload)
        case .end: return nil
        }
    }

    private mutating func describe(_ codec: FLVAudio.Codec, by configuration: [UInt8]) {
        switch codec {
        case .aac:
            guard let header = AACHeader(configuration: configuration) else {
                return complain("the AAC configuration cannot be read")
            }
            setAudio(.aac, header.sampleRate, header.channels ?? 2, configuration, frameLength: header.frameLength)
        case .opus where configuration.count > 9:
            setAudio(.opus, 48_000, Int(configuration[9]), configuration, frameLength: 960)
        default: complain("\(codec.rawValue) is not carried")
        }
    }

    /// Reads the parameters of MP3 and AC-3 from an audio frame: these codecs have no configuration, and each frame
    /// contains all parameters.
    private mutating func describe(_ codec: FLVAudio.Codec, byFrame payload: SharedBytes) {
        switch codec {
        case .mp3: describeMP3(payload.array)
        case .ac3: describeAC3(payload.array)
        case .aac, .opus: return
        case .eac3, .flac: complain("\(codec.rawValue) is not carried")
        }
    }

    private mutating func describeMP3(_ frame: [UInt8]) {
        guard let header = MP3Header(frame) else { return }
        setAudio(.mp3, header.format.sampleRate, header.format.channels, [], frameLength: header.frameLength)
    }

    private mutating func describeAC3(_ frame: [UInt8]) {
        guard let box = AC3Header.specificBox(frame), let format = AC3Header.format(frame) else { return }
        setAudio(.ac3, format.sampleRate, format.channels, box, frameLength: 1536)
    }

    /// Replaces the description of the audio, unless it is unchanged.
    private mutating func setAudio(
        _ codec: Codec, _ rate: Int32, _ channels: Int, _ configuration: [UInt8], frameLength: Int
    ) {
        let format = AudioFormat(sampleRate: rate, channels: max(1, channels))
        if let known = stream.audio, known.codec == codec, known.audioFormat == format,
            known.decoderConfiguration.array == configuration
        {
            return
        }
        stream.audio = TrackDescription(
            audio: codec, format: format, timeBase: .milliseconds,
            decoderConfiguration: SharedBytes(configuration), bitrate: bitrate("audiodatarate"),
            frameLength: frameLength)
    }

    /// The bit rate that the sender announced under `name`, in bits a second; 0 if it announced no plausible rate.
    private func bitrate(_ name: String) -> Int {
        let kilobits = number(name)
        return (1...1_000_000).contains(kilobits) ? Int(kilobits * 1000) : 0
    }

    private func number(_ name: String) -> Double {
        if case .number(let number)? = metadata[name] { number } else { 0 }
    }

    private mutating func leaveOut(_ tracks: [String]) {
        for track in tracks where !uncarriedTracks.contains(track) && uncarriedTracks.count < 8 {
            uncarriedTracks.append(track)
            complain("\(track) is not carried")
        }
    }

    private mutating func complain(_ text: String) {
        if !complaints.contains(text), complaints.count < 8 { complaints.append(text) }
    }
}

extension FLVAudio.Codec {
    /// The codec if outputs can carry it; otherwise nil.
    fileprivate var carried: Codec? {
        switch self {
        case .aac: .aac
        case .opus: .opus
        case .ac3: .ac3
        case .mp3: .mp3
        case .eac3, .flac: nil
        }
    }
}
