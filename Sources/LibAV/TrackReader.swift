// SPDX-License-Identifier: Apache-2.0

internal import CFFmpeg
package import Media

/// Converts the packets of one stream of a demuxer to the form for outputs: NAL units preceded by their lengths, and
/// AAC without ADTS headers. The coded data does not change. Only one thread may use it at a time.
///
/// When the parameter sets change, the track gets a new description, which takes effect at a keyframe. Sets that change
/// in the middle of a GOP also stay in the GOP's frames, so that a decoder can decode these frames.
package final class TrackReader {
    private enum Form {
        /// The form of MP4 and FLV, which outputs need.
        case plain
        /// NAL units with start codes.
        case byteStream
        /// AAC with an ADTS header before each frame.
        case adts
        /// Audio in a codec that no output carries, which is decoded.
        case decoded(SampleReader)
    }

    /// The stream whose packets are converted.
    package let stream: StreamInfo
    /// The description of the converted packets; nil until a packet reveals it.
    package private(set) var track: TrackDescription?
    private let codec: Codec
    private let form: Form
    private let subject: String
    private var units: AnnexBReader
    /// The size of the lengths in front of the NAL units in the input's frames, if these have the form of MP4. Outputs
    /// always get lengths of 4 bytes.
    private var lengths = UnitLengths()
    /// The times of the converted packets.
    private var decoding: DecodingTimes
    /// A decoder configuration that takes effect at the next keyframe; nil if no new configuration has come.
    private var pending: [UInt8]?
    /// The packets without a frame of the codec since the last packet with one.
    private var frameless: (count: Int, since: Int64) = (0, 0)
    /// After so many packets without a frame of the codec, and so much time, the stream has another codec.
    private static let (mostFrameless, longestFrameless) = (5, Duration.seconds(1))
    /// Whether the packets of a transport stream have another codec by now than when the stream was opened.
    package private(set) var isForeign = false

    /// Creates a reader of `stream`; nil if no output can carry its coding. If `decodesOtherAudio` is set, audio that
    /// no output carries is decoded, and nil means that it cannot be decoded. `subject` is the input's name in error
    /// messages.
    package init?(_ stream: StreamInfo, subject: String, decodesOtherAudio: Bool = false) {
        var samples: SampleReader?
        if decodesOtherAudio, stream.kind == .audio, stream.codec == nil {
            samples = try? SampleReader(stream, subject: subject)
        }
        guard let codec = samples == nil ? stream.codec : Codec.pcm, codec.kind != .data else { return nil }
        (self.stream, self.codec) = (stream, codec)
        units = AnnexBReader(codec)
        decoding = DecodingTimes(in: stream.timeBase)
        self.subject = "\(stream.codecName) of \(subject)"
        let extraData = stream.parameters.extraData ?? []
        track = stream.codedTrack(UnitLengths.widened(record: extraData, codec))
        lengths = UnitLengths(record: extraData, codec) ?? lengths
        switch codec {
        case .av1, .opus:
            guard track != nil else { return nil }
            form = .plain
        case .h264, .hevc: form = track == nil ? .byteStream : .plain
        case .aac: form = extraData.isEmpty ? .adts : .plain
        default: form = samples.map { Form.decoded($0) } ?? .plain
        }
        if case .byteStream = form, !extraData.isEmpty { begin(with: extraData) }
    }

    /// Converts a packet; its times are in ticks of the stream's time base. Returns nil if nothing can be passed on:
    /// the packet has no bytes or no time, depends on earlier packets that are missing, or yields no samples.
    package func read(_ box: PacketBox) throws(AVFailure) -> EncodedPacket? {
        let frame = stream.video?.averageRate.map { $0.timeBase.rescale(1, to: stream.timeBase) } ?? 0
        guard box.size > 0,
            let times = box.times(in: stream.timeBase, &decoding, delay: stream.reorderDepth, frame: frame)
        else { return nil }
        switch form {
        case .plain: return try readPlain(box, at: times)
        case .byteStream: return try readByteStream(box, at: times)
        case .adts: return readADTS(box, at: times)
        case .decoded(let samples):
            let packet = try samples.read(box)
            track = packet?.description ?? track
            return packet
        }
    }

    private func readPlain(_ box: PacketBox, at times: PacketBox.Times) throws(AVFailure) -> EncodedPacket? {
        if let configuration = box.newConfiguration {
            lengths = UnitLengths(record: configuration, codec) ?? lengths
            pending = UnitLengths.widened(record: configuration, codec)
        }
        if let configuration = pending, configuration != track?.decoderConfiguration.array {
            // Parameter sets that arrive between two keyframes are put into the frames until the next keyframe.
            if !box.isKeyframe, codec == .h264 || codec == .hevc, let track {
                let payload = lengths.widened(SharedBytes(box.bytes)).flatMap {
                    ConfigurationRecord.payload($0, from: track.decoderConfiguration, to: configuration, codec)
                }
                return payload.map { box.encodedPacket(of: track, at: times, payload: $0, isKeyframe: false) }
            }
            try changePlain(to: configuration, box)
        }
        pending = nil
        if track == nil || codec == .ac3 && track?.decoderConfiguration.count == 0 {
            track = stream.codedTrack(firstPayload: box.bytes)
        }
        guard let track else { return nil }
        // Most inputs have lengths of 4 bytes already. Their frames are copied only once, into the packet.
        if lengths.areWide { return box.encodedPacket(of: track, at: times) }
        return lengths.widened(SharedBytes(box.bytes)).map {
            box.encodedPacket(of: track, at: times, payload: $0, isKeyframe: box.isKeyframe)
        }
    }

    private func changePlain(to configuration: [UInt8], _ box: PacketBox) throws(AVFailure) {
        switch codec {
        case .h264, .hevc, .av1:
            guard let keyframe = lengths.widened(SharedBytes(box.bytes)) else { return }
            let shape = try CodedShape(
                of: codec, configuration: configuration, keyframe: keyframe, subject: subject)
            track = describe(shape, configuration)
        case .aac:
            track = Self.track(configuration, stream.timeBase, fallback: track?.audioFormat?.channels) ?? track
        default: break
        }
    }

    private func readADTS(_ box: PacketBox, at times: PacketBox.Times) -> EncodedPacket? {
        guard let frame = ADTSFrame.frames(box.bytes).first else { return nil }
        if frame.configuration != track?.decoderConfiguration.array {
            track = Self.track(frame.configuration, stream.timeBase, fallback: nil)
        }
        return track.map {
            box.encodedPacket(of: $0, at: times, payload: SharedBytes(frame.payload), isKeyframe: true)
        }
    }

    private static func track(_ configuration: [UInt8], _ timeBase: TimeBase, fallback: Int?) -> TrackDescription? {
        guard let header = AACHeader(configuration: configuration) else { return nil }
        return TrackDescription(
            audio: .aac, format: AudioFormat(sampleRate: header.sampleRate, channels: header.channels ?? fallback ?? 2),
            timeBase: timeBase, decoderConfiguration: SharedBytes(configuration), frameLength: header.frameLength)
    }
}

// MARK: Byte streams

extension TrackReader {
    private func readByteStream(_ box: PacketBox, at times: PacketBox.Times) throws(AVFailure) -> EncodedPacket? {
        // In streams without IDR frames, libav's parser finds the packets at which decoding can start.
        guard let unit = units.read(box.bytes, isRandomAccess: box.isKeyframe) else {
            noteFrameless(at: times.dts)
            return nil
        }
        frameless.count = 0
        if unit.isKeyframe { try follow(unit.payload) }
        return track.map {
            box.encodedPacket(of: $0, at: times, payload: unit.payload, isKeyframe: unit.isKeyframe)
        }
    }

    private func noteFrameless(at time: Int64) {
        if frameless.count == 0 { frameless.since = time }
        frameless.count += 1
        let length = stream.timeBase.duration(time - frameless.since)
        isForeign = isForeign || frameless.count >= Self.mostFrameless && length >= Self.longestFrameless
    }

    /// Describes the track by the parameter sets that are active at `keyframe`. If the sets changed between two
    /// keyframes, the frames from then on contain the new sets, and the description changes only here.
    private func follow(_ keyframe: SharedBytes) throws(AVFailure) {
        guard let configuration = units.sets.configuration, configuration != track?.decoderConfiguration.array else {
            return
        }
        track = describe(
            try CodedShape(of: codec, configuration: configuration, keyframe: keyframe, subject: subject),
            configuration)
    }

    /// Reads the parameter sets that probing found; in `extraData`, start codes separate them.
    private func begin(with extraData: [UInt8]) {
        _ = units.read(extraData)
        guard let configuration = units.sets.configuration, let video = stream.video, video.width > 0, video.height > 0
        else { return }
        track = TrackDescription(
            video: codec, frames: video.frames, timeBase: stream.timeBase,
            decoderConfiguration: SharedBytes(configuration), bitrate: stream.bitrate,
            nominalRate: video.averageRate, reorderDepth: stream.reorderDepth,
            displayMatrix: video.orientation.displayMatrix(video.width, video.height))
    }

    private func describe(_ shape: CodedShape, _ configuration: [UInt8]) -> TrackDescription {
        shape.track(
            codec, configuration: configuration, timeBase: stream.timeBase, bitrate: track?.bitrate ?? stream.bitrate,
            nominalRate: track?.nominalRate ?? stream.video?.averageRate,
            orientation: stream.video?.orientation ?? .upright)
    }
}

extension StreamInfo {
    fileprivate var bitrate: Int { Int(parameters.pointer.pointee.bit_rate) }
    fileprivate var reorderDepth: Int64 { Int64(parameters.pointer.pointee.video_delay) }
}

extension StreamInfo.Video {
    fileprivate var frames: FrameFormat {
        FrameFormat(width: width, height: height, sampleAspectRatio: sampleAspectRatio ?? .square, color: color)
    }
}

extension PacketBox {
    fileprivate var bytes: [UInt8] {
        guard let data = packet.pointee.data else { return [] }
        return Array(UnsafeBufferPointer(start: data, count: size))
    }

    /// The decoder configuration that applies from this packet on, if the container changes it in the middle of the
    /// stream.
    package var newConfiguration: [UInt8]? {
        var count: Int32 = 0
        guard let data = relay_packet_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, &count), count > 0 else {
            return nil
        }
        return Array(UnsafeBufferPointer(start: data, count: Int(count)))
    }

    fileprivate func encodedPacket(
        of track: TrackDescription, at times: Times, payload: SharedBytes, isKeyframe: Bool
    ) -> EncodedPacket {
        EncodedPacket(
            of: track, pts: times.pts, dts: times.dts, duration: times.duration, isKeyframe: isKeyframe,
            isDisposable: track.codec == .h264 && AccessUnit.isDisposable(payload), payload: payload)
    }
}

/// One AAC frame of a transport stream (ISO/IEC 13818-7, 6.2): a header, then the raw access unit.
package struct ADTSFrame: Sendable, Equatable {
    /// The `AudioSpecificConfig` (ISO/IEC 14496-3, 1.6.2.1) equivalent to the header.
    package let configuration: [UInt8]
    /// Samples per second.
    package let sampleRate: Int32
    /// Number of channels; 0 if a program config element in the payload defines them.
    package let channels: Int
    /// The raw access unit.
    package let payload: [UInt8]

    private static let rates: [Int32] = [
        96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
    ]

    /// Returns the consecutive frames in `bytes`, up to the first bytes that are not a frame. A header for several
    /// access units does not count as a frame.
    package static func frames(_ bytes: [UInt8]) -> [ADTSFrame] {
        var frames: [ADTSFrame] = []
        var start = 0
        while start + 7 <= bytes.count, bytes[start] == 0xFF, bytes[start + 1] & 0xF6 == 0xF0 {
            let header = bytes[start..<start + 7].map { Int($0) }
            let length = (header[3] & 3) << 11 | header[4] << 3 | header[5] >> 5
            // A 16-bit checksum follows if the last bit of the second byte is 0.
            let size = header[1] & 1 == 1 ? 7 : 9
            let rate = header[2] >> 2 & 0xF
            guard length > size, start + length <= bytes.count, rate < rates.count, header[6] & 3 == 0 else { break }
            let channels = (header[2] & 1) << 2 | header[3] >> 6
            let type = (header[2] >> 6) + 1
            frames.append(
                ADTSFrame(
                    configuration: [UInt8(type << 3 | rate >> 1), UInt8((rate & 1) << 7 | channels << 3)],
                    sampleRate: rates[rate], channels: channels == 7 ? 8 : channels,
                    payload: Array(bytes[(start + size)..<(start + length)])))
            start += length
        }
        return frames
    }
}
