// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media
internal import SourceClock

/// An input that libav opened, with its decoders. Used by one thread at a time.
final class OpenedInput {
    /// How errors and logs name the input.
    let name: String
    let demuxer: Demuxer
    let video: TrackDecoder?
    let audio: TrackDecoder?
    let isLive: Bool
    /// How the audio is taken.
    let options: TrackOptions
    private var discontinuity = DiscontinuityFilter()

    /// Makes the decoder of a stream, for an input that errors name so.
    typealias DecoderMaker = (StreamInfo, Decoder.Threading, _ subject: String) throws(AVFailure) -> any PacketDecoder

    /// Opens `location`. Blocks; the monitor's interrupter ends it. If it `isReopened` in a program that has a size, a
    /// keyframe is not waited for.
    init(
        _ location: InputLocation, options: IngestOptions, isReopened: Bool = false, monitor: SourceMonitor,
        makeDecoder: @escaping DecoderMaker = { (stream, threading, subject) throws(AVFailure) in
            try Decoder(stream, threading: threading, subject: subject)
        }
    ) throws(IngestError) {
        name = location.description
        demuxer = try location.openDemuxer(options, monitor: monitor)
        isLive = location.isLive(demuxer)
        self.options = location.tracks
        let choice = try TrackChoice(location.tracks, from: demuxer, input: location.description)
        monitor.note(uncarried: choice.others, of: name)
        var frames = choice.video
        if let stream = frames, !isReopened {
            frames = try VideoDiscovery(demuxer, of: name, isLive: isLive, monitor: monitor).complete(stream)
        }
        let threading: Decoder.Threading = isLive ? .slices : .frames
        let (isReplaceable, name) = (isLive, name)
        do throws(AVFailure) {
            let track = { (stream: StreamInfo?) throws(AVFailure) -> TrackDecoder? in
                guard let stream else { return nil }
                let decoder = try makeDecoder(stream, threading, location.description)
                let track = TrackDecoder(stream, decoder: decoder, monitor: monitor)
                if isReplaceable { track.watch { () throws(AVFailure) in try makeDecoder(stream, threading, name) } }
                return track
            }
            video = try track(frames)
            audio = try track(choice.audio)
        } catch {
            throw IngestError.cannotBeDecoded(input: location.description, reason: error.message)
        }
        if video == nil, audio == nil { throw IngestError.noMedia(input: location.description) }
    }

    /// The constant rate that fits the frames best.
    var frameRate: FrameRate {
        NominalRate.of(average: video?.stream.video?.averageRate, base: video?.stream.video?.baseRate)
    }

    var description: SourceDescription {
        var description = SourceDescription(
            video: video?.stream.video.map(format), hasAudio: audio != nil, isLive: isLive,
            duration: isLive ? nil : demuxer.duration)
        if !isLive, let stream = video?.stream { description.isCutOff = demuxer.isCutOff(stream) }
        return description
    }

    /// How the tracks are stamped.
    var stamps: [TrackKind: (timeBase: TimeBase, bits: Int?)] {
        [TrackKind.video: video, .audio: audio].compactMapValues { track in
            track.map { ($0.stream.timeBase, $0.stream.stampBits) }
        }
    }

    /// Which clock the stamps of a capture device are readings of.
    var captureClock: CaptureClock? {
        let isDevice = SourceClockSettings.isDevice(formatName: demuxer.formatName)
        return isDevice ? demuxer.firstStamp.flatMap { CaptureClock(stamp: $0) } : nil
    }

    /// Removes the jumps of a file's clock that may jump.
    func smooth(_ packet: PacketBox) {
        guard demuxer.mayJump, let dts = packet.dts ?? packet.pts else { return }
        let tracks = [video, audio].compactMap(\.self)
        guard let base = tracks.first(where: { $0.stream.index == packet.streamIndex })?.stream.timeBase else { return }
        packet.shift(by: discontinuity.shift(dts: dts, stream: packet.streamIndex, base: base))
    }

    /// Goes back to the start.
    func rewind() throws(AVFailure) {
        discontinuity.reset()
        try demuxer.seekToStart()
    }

    /// Whether it is known what the video looks like.
    var knowsVideo: Bool { video?.stream.video.map { $0.width > 0 && $0.height > 0 } ?? false }

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
