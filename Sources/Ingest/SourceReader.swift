// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Logging
internal import Media

/// Reads an open input from its start to its end or in a loop, and delivers its media into a sink. The input can wait:
/// reading can be paused without loss. Used by the source's thread only.
final class SourceReader {
    /// The result of ``step()``.
    private enum Step {
        case advanced
        case needsPacket(TrackKind)
        case blocked
        case ended
        /// The decoder of the leading track is broken or lacks a library. The leading track is the video or, in an
        /// input without video, the audio. If the decoder is broken, opening the input again makes a new decoder.
        case failed(AVFailure)
    }

    /// If a file has no index, the reader seeks to a point that is earlier than the requested one by this margin. The
    /// margin is longer than the distance between keyframes in most streams.
    private static let margin = Duration.seconds(5)

    private let input: OpenedInput
    private let sink: any SourceSink
    private let monitor: SourceMonitor
    private let loops: Bool
    private let video: VideoTrack?
    private let audio: AudioTrack?
    /// The wanted tracks that the input lacks.
    private let missing: [TrackKind]
    private let rate: TimeBase
    private var timeline: SourceTimeline
    /// The requested time of the first frame, in ticks of the video. Frames that are earlier by more than half a frame
    /// are skipped. Nil once a frame was delivered.
    private var firstWanted: Int64?
    /// The end of the last frame that was skipped because of ``firstWanted``, in ticks of the video; nil if none was
    /// skipped.
    private var skippedEnd: Int64?
    /// Whether the input is read from the start of the file, so that no frame was skipped.
    private let isFromStart: Bool
    /// The number of packets of the video that were read.
    private var videoPackets = 0
    private var inputEnded = false
    private var failure: AVFailure?
    private var errors = ReadErrors()

    /// Creates a reader of `input` that delivers the wanted tracks. Delivery begins at position `start` of the source's
    /// timeline, in samples. If the input has video, the first frame is the one nearest to `begin`. `isFirst` tells
    /// whether this is the first part of the file, in which the coding may change.
    init(
        _ input: OpenedInput, into sink: any SourceSink, video wantedVideo: VideoFormat?,
        audio wantedAudio: AudioFormat?, loops: Bool, start: Int64, from begin: StartPoint = .beginning,
        isFirst: Bool = true, monitor: SourceMonitor
    ) throws(IngestError) {
        self.input = input
        self.sink = sink
        self.monitor = monitor
        self.loops = loops
        isFromStart = isFirst && begin == .beginning
        let format = wantedAudio ?? .program
        rate = format.timeBase
        var missing: [TrackKind] = []
        if wantedVideo != nil, input.video == nil { missing.append(.video) }
        if wantedAudio != nil, input.audio == nil { missing.append(.audio) }
        self.missing = missing
        let subject = input.name
        do throws(AVFailure) {
            if let wantedVideo, let stream = input.video {
                video = try VideoTrack(
                    try input.track(stream), target: wantedVideo, sink: sink, monitor: monitor, subject: subject)
                let base = stream.timeBase
                timeline = SourceTimeline(timeBase: base, frameDuration: input.frameRate.timeBase.rescale(1, to: base))
            } else {
                video = nil
                timeline = SourceTimeline(timeBase: format.timeBase, frameDuration: 1)
            }
            let leads = video == nil
            audio =
                try wantedAudio == nil
                ? nil
                : input.audio.map { (stream) throws(AVFailure) in
                    AudioTrack(
                        try input.track(stream), format: format, options: input.options, leads: leads, sink: sink,
                        monitor: monitor, subject: subject)
                }
        } catch {
            throw IngestError.decoding(input.name, error)
        }
        timeline.begin(at: start, rate: format.timeBase)
        input.demuxer.select(Set([video?.decoder.stream.index, audio?.decoder.stream.index].compactMap(\.self)))
        if begin != .beginning { try skip(to: begin) }
    }

    /// Skips the frames in front of `begin`.
    private func skip(to begin: StartPoint) throws(IngestError) {
        guard let stream = video?.decoder.stream else { return }
        let first = input.demuxer.firstStamp(of: stream) ?? 0
        let target =
            switch begin {
            case .moment(let moment): first + stream.timeBase.ticks(moment)
            case .stamp(let stamp): TimeBase.nanoseconds.rescale(stamp.nanoseconds, to: stream.timeBase)
            }
        // Parts of a file whose coding changes can only be read from their beginning.
        if input.demuxer.transportStream == nil { try seek(stream, to: target, after: first) }
        firstWanted = target
    }

    /// Seeks to the keyframe before `target`; decoding begins there. The first frame of `stream` is at `first`.
    private func seek(_ stream: StreamInfo, to target: Int64, after first: Int64) throws(IngestError) {
        // Without an index, libav guesses where the keyframe before a time is, and can find one after it. The margin
        // compensates for this.
        let margin = input.demuxer.mayJump ? stream.timeBase.ticks(Self.margin) : 0
        do throws(AVFailure) {
            if target - margin > first {
                try input.demuxer.seek(stream, to: target - margin)
            } else {
                try input.demuxer.seekToStart()
            }
        } catch {
            throw IngestError.unreadable(input: input.name, reason: error.message)
        }
    }

    /// Whether all frames so far were skipped, because they are earlier than the requested first one.
    var isBeforeStart: Bool { firstWanted != nil }

    /// Where delivery begins in the next part of the file, behind a change of the coding. If this part has ended before
    /// ``firstWanted``, the next part skips the frames that are still too early.
    var startBehindChange: StartPoint {
        guard let firstWanted, let base = video?.decoder.stream.timeBase else { return .beginning }
        guard let skippedEnd else { return .stamp(Timestamp(firstWanted, in: base)) }
        return .moment(base.duration(max(0, firstWanted - skippedEnd)))
    }

    /// Whether the coding changes where the input ends, so that another reader continues there.
    var isAtChange: Bool { inputEnded && input.demuxer.transportStream?.isChanged == true }

    /// Whether media of this source follows the end of the input.
    private var continues: Bool { loops || isAtChange }

    /// Delivers until the input ends or the source is stopped. In a file whose coding changes, the method also returns
    /// after each round of a loop. Blocks.
    func run() throws(IngestError) {
        if video == nil, !awaited.contains(.video) { sink.end(.video) }
        if audio == nil, !awaited.contains(.audio) { sink.end(.audio) }
        markAwaited()
        while !monitor.isStopped {
            switch step() {
            case .advanced: continue
            case .blocked:
                markAwaited()
                monitor.waitForRoom(in: sink)
            case .needsPacket(let track): fetch(for: track)
            case .failed(let failure): throw IngestError.decoding(input.name, failure)
            case .ended:
                if let failure { throw IngestError.unreadable(input: input.name, reason: failure.message) }
                guard loops, input.demuxer.transportStream == nil else { return }
                try beginRound()
            }
        }
    }

    private func step() -> Step {
        var result = Step.blocked
        if let video, !video.isFinished, sink.hasRoom(for: .video) {
            note(stepVideo(video), of: .video, in: &result)
        }
        if let audio, !audio.isFinished, mayPlaceAudio {
            let limit = continues && video?.isFinished == true ? timeline.end(in: rate) : nil
            var progress = audio.step(inputEnded: inputEnded, limit: limit, timeline: &timeline)
            if case .failed(let failure) = progress, video != nil {
                giveUp(audio, failure)
                progress = .ended
            }
            if case .ended = progress { end(.audio) }
            note(progress, of: .audio, in: &result)
        }
        let audioFinished = audio?.isFinished ?? true
        let videoFinished = video?.isFinished ?? true
        if case .failed = result { return result }
        if audioFinished && videoFinished { return .ended }
        // In a loop, or before a change of the coding, audio that is shorter than the video is silent until the video
        // ends. Meanwhile the program must not wait for audio.
        if continues, audio != nil, audioFinished, sink.hasRoom(for: .audio) { sink.markStarved(.audio) }
        return result
    }

    private func stepVideo(_ video: VideoTrack) -> TrackDecoder.Progress {
        let progress = video.step(inputEnded: inputEnded) { pts in
            if let firstWanted, let pts, pts < firstWanted - timeline.frameDuration / 2 {
                skippedEnd = max(skippedEnd ?? .min, pts + timeline.frameDuration)
                return (nil, nil)
            }
            firstWanted = nil
            return (timeline.place(pts), timeline.frameDuration)
        }
        if case .ended = progress { end(.video) }
        return progress
    }

    /// The wanted tracks that the input lacks now, but that later parts of the file can have, because the file's coding
    /// changes.
    private var awaited: [TrackKind] { input.demuxer.transportStream == nil ? [] : missing }

    /// Tells the sink that the ``awaited`` tracks deliver nothing at present, so that the program does not wait for them.
    private func markAwaited() { for track in awaited { sink.markStarved(track) } }

    /// Ends `track` in the sink, and the tracks that the input lacks, unless media of this source follows. After a read
    /// error no track ends here: ``run()`` throws the error, so that it is reported before the track ends.
    private func end(_ track: TrackKind) {
        if continues || failure != nil { return }
        if isFromStart, videoPackets == 1 { sink.markImage() }
        for track in missing { sink.end(track) }
        sink.end(track)
    }

    /// Continues with video and without audio. In a loop, ``step()`` then tells the sink not to wait for audio.
    private func giveUp(_ audio: AudioTrack, _ failure: AVFailure) {
        audio.giveUp()
        monitor.update { $0.lastError = failure.description }
        monitor.logger.warning(
            "the audio decoder is broken; the input continues without audio", metadata: ["reason": "\(failure)"])
    }

    /// Whether audio can be placed now, and the sink has room for it. At the end of a loop's round, or before a change
    /// of the coding, audio is delivered even if the sink has no room: only a little audio is left, and the frames that
    /// follow must not wait for it.
    private var mayPlaceAudio: Bool {
        guard let video else { return sink.hasRoom(for: .audio) }
        guard timeline.hasOrigin || video.isFinished else { return false }
        return sink.hasRoom(for: .audio) || (continues && video.isFinished)
    }

    private func note(_ progress: TrackDecoder.Progress, of track: TrackKind, in step: inout Step) {
        if case .failed = step { return }
        switch progress {
        case .advanced, .ended: step = .advanced
        case .failed(let failure): step = .failed(failure)
        case .needsPacket: if case .blocked = step { step = .needsPacket(track) }
        }
    }

    private func beginRound() throws(IngestError) {
        var next = timeline
        // If the requested start time is after the last frame, this round has delivered nothing. The next round then
        // begins at the file's first frame.
        guard next.beginRound() || firstWanted != nil else { throw IngestError.empty(input: input.name) }
        firstWanted = nil
        do throws(AVFailure) {
            try input.rewind()
        } catch {
            if monitor.isStopped { return }
            throw IngestError.cannotLoop(input: input.name, reason: error.message)
        }
        timeline = next
        video?.flush()
        audio?.beginRound(at: timeline.start(in: rate))
        inputEnded = false
    }

    /// Ends a loop's round after a read error, or the part of the input before a change of the coding. Returns the
    /// position at which another reader can continue, in samples; nil if this reader has delivered nothing.
    func breakOff() -> Int64? {
        guard continues, timeline.beginRound() else { return nil }
        let end = timeline.start(in: rate)
        audio?.beginRound(at: end)
        return end
    }
}

extension SourceReader {
    /// Reads one packet for a track whose queue is empty, unless the other track has been read too far ahead.
    private func fetch(for track: TrackKind) {
        makeSpace()
        if isFull(besides: track) {
            sink.markStarved(track)
            monitor.pause(.milliseconds(5))
            return
        }
        switch monitor.read(input.demuxer, &errors) {
        case .packet(let packet): sort(packet)
        case .nothing: break
        case .over: inputEnded = true
        case .failed(let failure): (self.failure, inputEnded) = (failure, true)
        }
    }

    private func sort(_ packet: PacketBox) {
        input.smooth(packet)
        if let video, packet.streamIndex == video.decoder.stream.index {
            videoPackets += 1
            if !video.isFinished { video.decoder.queue.append(packet) }
        } else if let audio, packet.streamIndex == audio.decoder.stream.index, !audio.isFinished {
            audio.decoder.queue.append(packet)
        }
    }

    /// Whether the track other than `track` has been read as far ahead as allowed.
    private func isFull(besides track: TrackKind) -> Bool {
        guard let video, let audio else { return false }
        let other = track == .video ? audio.decoder.queue : video.decoder.queue
        // Before the first frame no audio can be placed, so reading continues however much audio is queued.
        if !timeline.hasOrigin { return false }
        // Audio is read further ahead than video, because it needs little memory. If the video is a slide show, a
        // decoder needs several frames before it outputs one.
        let limit = track == .video ? CompressedQueue.audioTimeLimit : CompressedQueue.usualTimeLimit
        return other.length >= limit || other.bytes >= CompressedQueue.usualByteLimit
    }

    /// Drops the oldest audio if too much of it is queued before the first frame.
    private func makeSpace() {
        guard let audio, !timeline.hasOrigin else { return }
        audio.decoder.queue.trim(isLive: false)
    }
}
