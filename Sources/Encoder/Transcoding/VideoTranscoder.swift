// SPDX-License-Identifier: Apache-2.0

internal import LibAV
package import Media
internal import Synchronization

/// Decodes video packets and encodes them as H.264, each frame with the sender's time. Only one thread at a time may
/// use it.
///
/// x264 receives frame numbers as times. In the output, each frame gets the sender's time back, so that neither a
/// variable frame rate nor the sender's clock moves a frame. The decoding time of an output frame is the presentation
/// time of that frame or of an earlier one; the number of B-frames determines which one.
package final class VideoTranscoder: TrackTranscoder {
    /// Receives requests for keyframes from any thread.
    private final class Requests: KeyframeRequester {
        let schedule: Mutex<KeyframeSchedule>

        init(frameRate: FrameRate) { schedule = Mutex(KeyframeSchedule(frameRate: frameRate)) }

        func requestKeyframe(at programTime: ProgramInstant?) {
            schedule.withLock { $0.request(at: programTime) }
        }
    }

    /// The object through which keyframes are requested; any thread can use it.
    package var keyframes: any KeyframeRequester { requests }
    package let description: TrackDescription
    /// Number of frames that the encoder holds before its first output.
    package let delayInFrames: Int
    private let subject: String
    private let format: VideoFormat
    private let encoder: RestartingEncoder
    private let requests: Requests
    private var source: (track: TrackDescription, decoder: Decoder, converter: FrameConverter)?
    /// The presentation times of the latest frames, in ticks of ``description``. The first one belongs to frame number
    /// `firstTime`.
    private var times: [Int64] = []
    private var firstTime: Int64 = 0
    private var next: Int64 = 0
    private var start: Int64?
    private var captions: [UInt8] = []
    private var decodingErrors = 0
    package var errors: Int { decodingErrors + Int(encoder.refused.frames) }

    /// Creates a transcoder with `settings` for video like `track`. The output has the frame size `size` or, if that is
    /// nil, the size of `track`. Its frames are upright. `subject` is the input's name in error messages.
    package init(_ settings: EncoderSettings, of track: TrackDescription, size: FrameSize?, subject: String) throws {
        self.subject = subject
        format = Self.format(of: track, size: size)
        encoder = try RestartingEncoder(settings: settings, format: format)
        delayInFrames = encoder.session.delay
        requests = Requests(frameRate: format.frameRate)
        description = encoder.session.description.timed(in: track.timeBase)
    }

    private static func format(of track: TrackDescription, size: FrameSize?) -> VideoFormat {
        var format = VideoFormat(codedLike: track)
        if Orientation(of: track).swapsAxes {
            let aspect = format.sampleAspectRatio
            (format.width, format.height) = (format.height, format.width)
            format.sampleAspectRatio = SampleAspectRatio(aspect.vertical, aspect.horizontal)
        }
        guard let size, size != FrameSize(width: format.width, height: format.height) else { return format }
        (format.width, format.height, format.sampleAspectRatio) = (size.width, size.height, .square)
        let color = track.frameFormat?.color ?? .unspecified
        format.color = color.resolved(width: format.width, height: format.height)
        return format
    }

    package func take(_ packet: EncodedPacket) throws -> [EncodedPacket] {
        var coded: [EncodedPacket] = []
        do {
            if source?.track !== packet.description {
                coded += try drain()
                source = (
                    packet.description, try Decoder(packet.description, subject: subject),
                    try FrameConverter(
                        packet.description, orientation: Orientation(of: packet.description), target: format,
                        subject: subject)
                )
            }
            try source?.decoder.send(coded: packet)
            coded += try decode()
        } catch let failure as AVFailure {
            if failure.isMissingLibrary { throw failure }
            decodingErrors += 1
        }
        return coded
    }

    package func finish() throws -> [EncodedPacket] {
        var coded = try drain()
        while let packet = try encoder.flush() { coded.append(renamed(packet)) }
        return coded
    }

    private func drain() throws -> [EncodedPacket] {
        guard let last = source else { return [] }
        try last.decoder.send(nil)
        var frames: [VideoFrame] = []
        let coded = try decode()
        try last.converter.finish { frames.append($0) }
        source = nil
        return coded + (try encode(frames, in: last.track.timeBase))
    }

    private func decode() throws -> [EncodedPacket] {
        var coded: [EncodedPacket] = []
        while let (track, decoder, converter) = source, case .frame(let decoded) = try decoder.receive() {
            guard let pts = decoded.pts else { continue }
            var frames: [VideoFrame] = []
            try converter.convert(decoded, pts: pts) { frames.append($0) }
            coded += try encode(frames, in: track.timeBase)
        }
        return coded
    }

    private func encode(_ frames: [VideoFrame], in base: TimeBase) throws -> [EncodedPacket] {
        var coded: [EncodedPacket] = []
        for frame in frames {
            let time = base.rescale(frame.pts, to: description.timeBase)
            // If a frame's time is not later than the previous frame's, the frame is left out; its captions go with the
            // next frame.
            if let last = times.last, time <= last {
                captions += frame.captions
                continue
            }
            var frame = frame
            frame.captions = captions + frame.captions
            captions = []
            let position = format.frameRate.frame(at: ProgramInstant(time, in: description.timeBase))
            let isForced = requests.schedule.withLock { $0.isKeyframeDue(at: position) }
            times.append(time)
            start = start ?? time
            let packet = try encoder.encode(frame, at: next, forceKeyframe: isForced)
            next += 1
            if let packet { coded.append(renamed(packet)) }
        }
        return coded
    }

    /// Converts the time of the encoder's packet from a frame number to the time of that frame.
    private func renamed(_ packet: EncodedPacket) -> EncodedPacket {
        let pts = time(of: packet.pts)
        let dts = min(pts, time(of: packet.dts))
        // The times of frames before the packet's decoding time are not needed any more. The newest time is always
        // kept, because the next frame's time is compared with it.
        let known = Int(max(0, min(packet.dts - firstTime, Int64(times.count) - 1)))
        times.removeFirst(known)
        firstTime += Int64(known)
        if packet.isKeyframe { requests.schedule.withLock { $0.noteKeyframe() } }
        return EncodedPacket(
            of: description, pts: pts, dts: dts, duration: frameLength, isKeyframe: packet.isKeyframe,
            isDisposable: packet.isDisposable, payload: packet.payload)
    }

    private var frameLength: Int64 { format.frameRate.timeBase.rescale(1, to: description.timeBase) }

    private func time(of number: Int64) -> Int64 {
        let place = number - firstTime
        if times.indices.contains(Int(place)) { return times[Int(place)] }
        // Decoding times can be frame numbers before the first frame; these are converted at the nominal frame rate.
        return (start ?? 0) + number * frameLength
    }
}
