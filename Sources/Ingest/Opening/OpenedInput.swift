// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media
internal import SourceClock

/// An input that libav opened, with its decoders. Used by one thread at a time.
final class OpenedInput {
    /// The input's name in errors and logs.
    let name: String
    let demuxer: Demuxer
    let video: StreamInfo?
    let audio: StreamInfo?
    let isLive: Bool
    /// The selection of tracks and the treatment of the audio.
    let options: TrackOptions
    private let monitor: SourceMonitor
    private let makeDecoder: DecoderMaker
    /// Decoders of a file that were made at opening and are not used by a track yet.
    private var decoders: [TrackKind: any PacketDecoder] = [:]
    private var discontinuity = DiscontinuityFilter()

    /// Makes the decoder of a stream. `subject` is the input's name in error messages.
    typealias DecoderMaker = (StreamInfo, Decoder.Threading, _ subject: String) throws(AVFailure) -> any PacketDecoder

    /// Opens `location`. Blocks until the input is open or the monitor's interrupter interrupts it. If `isReopened` is
    /// set, opening does not wait for a keyframe, because the size of the video is not needed.
    convenience init(
        _ location: InputLocation, options: IngestOptions, isReopened: Bool = false, monitor: SourceMonitor,
        makeDecoder: @escaping DecoderMaker = { (stream, threading, subject) throws(AVFailure) in
            try Decoder(stream, threading: threading, subject: subject)
        }
    ) throws(IngestError) {
        try self.init(
            try location.openDemuxer(options, monitor: monitor), at: location, isReopened: isReopened,
            monitor: monitor, makeDecoder: makeDecoder)
    }

    /// Creates the input of `demuxer`, which was opened at `location`.
    init(
        _ demuxer: Demuxer, at location: InputLocation, isReopened: Bool, monitor: SourceMonitor,
        makeDecoder: @escaping DecoderMaker
    ) throws(IngestError) {
        name = location.description
        self.demuxer = demuxer
        isLive = location.isLive(demuxer)
        self.options = location.tracks
        (self.monitor, self.makeDecoder) = (monitor, makeDecoder)
        let choice = try TrackChoice(location.tracks, from: demuxer, input: location.description)
        monitor.note(uncarried: choice.others, of: name)
        if let stream = choice.video, !isReopened {
            video = try VideoDiscovery(demuxer, of: name, isLive: isLive, monitor: monitor).complete(stream)
        } else {
            video = choice.video
        }
        audio = choice.audio
        if video == nil, audio == nil { throw IngestError.noMedia(input: name) }
        try makeDecoders()
    }

    /// Makes the decoders, and keeps them if the input is a file. For a live input this only checks that decoders can
    /// be made: its decoders are made later, in ``DecodingLane``. Throws if a decoder cannot be made.
    private func makeDecoders() throws(IngestError) {
        do throws(AVFailure) {
            for stream in [video, audio].compactMap(\.self) {
                let decoder = try makeDecoder(stream, isLive ? .slices : .frames, name)
                if !isLive { decoders[stream.kind] = decoder }
            }
        } catch {
            throw IngestError.decoding(name, error)
        }
    }

    /// Returns the decoder of `stream`, which is a stream of a file, together with the queue for its packets.
    func track(_ stream: StreamInfo) throws(AVFailure) -> TrackDecoder {
        guard let made = decoders.removeValue(forKey: stream.kind) else {
            return TrackDecoder(stream, decoder: try makeDecoder(stream, .frames, name), monitor: monitor)
        }
        return TrackDecoder(stream, decoder: made, monitor: monitor)
    }

    /// The constant frame rate that fits the input's video frames best.
    var frameRate: FrameRate { NominalRate.of(average: video?.video?.averageRate, base: video?.video?.baseRate) }

    var description: SourceDescription {
        var description = SourceDescription(
            video: video?.video.map(format), hasAudio: audio != nil, isLive: isLive,
            duration: isLive ? nil : demuxer.duration)
        if !isLive, let stream = video { description.isCutOff = demuxer.isCutOff(stream) }
        return description
    }

    /// Returns the settings by which timestamps and arrival times of this live input are converted to due times.
    /// `latency` is the latency that the address configures.
    func clockSettings(latency: Duration?) -> SourceClockSettings {
        .of(demuxer, video: video, frameRate: frameRate, latency: latency)
    }

    /// The time base and number of bits of each track's timestamps.
    var stamps: [TrackKind: TrackStamps] {
        [TrackKind.video: video, .audio: audio].compactMapValues { track in
            track.map { ($0.timeBase, $0.stampBits) }
        }
    }

    /// The clock that gives a capture device's timestamps; nil for other inputs, or if no known clock fits the
    /// timestamps.
    var captureClock: CaptureClock? {
        let isDevice = SourceClockSettings.isDevice(formatName: demuxer.formatName)
        return isDevice ? demuxer.firstStamp.flatMap { CaptureClock(stamp: $0) } : nil
    }

    /// Removes jumps from a file's timestamps, if the file's format allows jumps.
    func smooth(_ packet: PacketBox) {
        guard demuxer.mayJump, let dts = packet.dts ?? packet.pts else { return }
        let tracks = [video, audio].compactMap(\.self)
        guard let base = tracks.first(where: { $0.index == packet.streamIndex })?.timeBase else { return }
        packet.shift(by: discontinuity.shift(dts: dts, stream: packet.streamIndex, base: base))
    }

    /// Seeks to the start of the input.
    func rewind() throws(AVFailure) {
        discontinuity.reset()
        try demuxer.seekToStart()
    }

    /// Whether the size of the video is known.
    var knowsVideo: Bool { video?.video.map { $0.width > 0 && $0.height > 0 } ?? false }

    private func format(_ stream: StreamInfo.Video) -> VideoFormat {
        guard knowsVideo else {
            var format = VideoFormat.usual
            if stream.averageRate != nil || stream.baseRate != nil { format.frameRate = frameRate }
            return format
        }
        var (width, height) = (stream.width, stream.height)
        var aspect = stream.sampleAspectRatio ?? .square
        if stream.orientation.swapsAxes {
            swap(&width, &height)
            aspect = SampleAspectRatio(aspect.vertical, aspect.horizontal)
        }
        let frames = FrameFormat(width: width, height: height, sampleAspectRatio: aspect, color: stream.color)
        return VideoFormat(nearestTo: frames, frameRate: frameRate)
    }
}
