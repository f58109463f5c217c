// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

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

    /// Opens `location`. Blocks; the monitor's interrupter ends it.
    init(
        _ location: InputLocation, options: IngestOptions, monitor: SourceMonitor,
        makeDecoder: @escaping DecoderMaker = { (stream, threading, subject) throws(AVFailure) in
            try Decoder(stream, threading: threading, subject: subject)
        }
    ) throws(IngestError) {
        name = location.description
        let (url, settings) = Self.settings(location, options)
        do throws(AVFailure) {
            demuxer = try Demuxer(
                url: url, options: settings, interrupter: monitor.interrupter, subject: location.description)
        } catch {
            throw IngestError.cannotBeOpened(input: location.description, reason: error.message)
        }
        isLive = location.isLiveByNature ?? (demuxer.duration == nil)
        self.options = location.tracks
        let choice = try TrackChoice(location.tracks, from: demuxer, input: location.description)
        let threading: Decoder.Threading = isLive ? .slices : .frames
        do throws(AVFailure) {
            let track = { (stream: StreamInfo?) throws(AVFailure) -> TrackDecoder? in
                guard let stream else { return nil }
                let decoder = try makeDecoder(stream, threading, location.description)
                return TrackDecoder(stream, decoder: decoder, monitor: monitor)
            }
            video = try track(choice.video)
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
        SourceDescription(
            video: video?.stream.video.map(format), hasAudio: audio != nil, isLive: isLive,
            duration: isLive ? nil : demuxer.duration)
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

    private func format(_ stream: StreamInfo.Video) -> VideoFormat {
        var (width, height) = (stream.width, stream.height)
        var aspect = stream.sampleAspectRatio ?? .square
        if stream.orientation.swapsAxes {
            swap(&width, &height)
            aspect = SampleAspectRatio(aspect.vertical, aspect.horizontal)
        }
        return VideoFormat(
            width: min(8192, max(16, width & ~1)), height: min(8192, max(16, height & ~1)), frameRate: frameRate,
            sampleAspectRatio: aspect, color: stream.color)
    }

    /// What libav is told: the URL, the device, its options and deadlines.
    static func settings(
        _ location: InputLocation, _ options: IngestOptions
    ) -> (url: String, options: Demuxer.Options) {
        switch location.place {
        case .test: return ("", Demuxer.Options())
        case .file(let path): return ("file:" + path, Demuxer.Options())
        case .device(let format, let name):
            var values: [String: String] = [:]
            if format != "lavfi" {
                if let size = options.size { values["video_size"] = "\(size.width)x\(size.height)" }
                if let rate = options.frameRate { values["framerate"] = rate.description }
            }
            let isDevice = format != "lavfi"
            let limit: Duration? = isDevice ? .seconds(10) : nil
            var options = Demuxer.Options(format: format, values: values, openTimeout: limit, readTimeout: limit)
            // Their drivers ask nobody whether to go on waiting.
            options.isPolled = format == "v4l2" || format == "alsa"
            return (name, options)
        case .url(let scheme, let text):
            let values =
                switch scheme {
                case "rtsp": ["rtsp_flags": "prefer_tcp"]
                // In packets of 188 bytes: 24 MB, some 10 s at 20 Mbit/s. When even that is full, what comes is lost, as
                // on the way, instead of ending the input (ffmpeg-protocols(1), udp). The address may say otherwise.
                case "udp": ["fifo_size": "131072", "overrun_nonfatal": "1"]
                default: [:] as [String: String]
                }
            return (
                text,
                Demuxer.Options(
                    values: values, openTimeout: location.listens ? nil : .seconds(15), readTimeout: .seconds(10))
            )
        }
    }
}
