// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Logging
internal import Media

/// Decodes what a ``PacketPump`` reads of a live input and delivers it into a sink, as long as the input lasts. Lives on
/// the source's thread.
final class LiveReader {
    /// How much media time may wait to be decoded; what is older is given up.
    private static let timeLimit = Duration.seconds(60)
    /// The same of a playlist, in target durations: the three of its start, one that comes before the first of them is
    /// played, and two of lateness.
    private static let segmentLimit = 6
    /// Bytes of a track that may wait to be decoded before reading of a playlist pauses (16 MiB).
    private static let pauseBytes = CompressedQueue.byteLimit / 4

    private let input: OpenedInput
    private let sink: any SourceSink
    private let monitor: SourceMonitor
    private let timing: SourceTiming
    private let pump: PacketPump
    private let video: VideoTrack?
    private let audio: LiveAudioTrack?
    /// Hands packets on as they came, if somebody wants them.
    private let copies: PacketCopies?
    private let watch: DecodingWatch
    private let clock = SystemClock()
    private var ending: PacketPump.Ending?

    /// A reader of `input` that delivers the wanted tracks, timed by `timing`.
    init(
        _ input: OpenedInput, into sink: any SourceSink, video wantedVideo: VideoFormat?,
        audio wantedAudio: AudioFormat?, timing: SourceTiming, monitor: SourceMonitor
    ) throws(IngestError) {
        self.input = input
        self.sink = sink
        self.monitor = monitor
        self.timing = timing
        let watch = DecodingWatch(timing, monitor: monitor, name: input.name)
        self.watch = watch
        do throws(AVFailure) {
            video = try wantedVideo.flatMap { (format) throws(AVFailure) in
                try input.video.map { (decoder) throws(AVFailure) in
                    try VideoTrack(
                        decoder, target: format, sink: sink, monitor: monitor, subject: input.name, watch: watch)
                }
            }
        } catch {
            throw IngestError.cannotBeDecoded(input: input.name, reason: error.message)
        }
        audio = wantedAudio.flatMap { format in
            input.audio.map {
                LiveAudioTrack(
                    $0, format: format, channels: input.options.channels, timing: timing, sink: sink, monitor: monitor,
                    subject: input.name)
            }
        }
        let streams = [video?.decoder.stream, audio?.decoder.stream].compactMap(\.self)
        let isMissingAudio = wantedAudio != nil && audio == nil && input.options.hasAudio
        input.demuxer.select(Set(streams.map(\.index)), followsAll: isMissingAudio)
        copies = PacketCopies(
            streams, of: input.name, options: input.options, into: sink, timing: timing, monitor: monitor)
        let limit = max(Self.timeLimit, (input.demuxer.targetDuration ?? .zero) * Self.segmentLimit)
        for decoder in [video?.decoder, audio?.decoder] { decoder?.queue.timeLimit = limit }
        // Beside video, so that the clock knows how long it must wait; audio alone is placed later by `SourceTiming`.
        let clock = input.captureClock
        let offset = video == nil ? .zero : input.options.audioOffset
        let wanted: Set<TrackKind> = Set(
            [wantedVideo.map { _ in .video }, wantedAudio.map { _ in .audio }].compactMap(\.self))
        pump = PacketPump(
            input.demuxer,
            tracks: streams.map {
                PacketPump.Track(
                    kind: $0.kind, index: $0.index, timeBase: $0.timeBase,
                    shift: $0.kind == .audio ? $0.timeBase.ticks(offset) : 0, clock: clock)
            },
            wanted: input.options.followed(wanted), timing: timing, monitor: monitor)
    }

    /// Delivers until the input ends or the source is stopped. Blocks.
    func run() throws(IngestError) {
        pump.start()
        defer { pump.finish() }
        var backlog = BacklogWatch(timing, sink)
        while !monitor.isStopped {
            takePackets()
            backlog.begin()
            // Both, and neither waits for the other.
            let isMoving = [try step(video), try step(audio)].contains(true)
            if isMoving { continue }
            if isOver { break }
            backlog.end()
            pump.wait(.milliseconds(20))
            watch.rest()
        }
        guard !monitor.isStopped else { return }
        switch ending {
        case .failed(let failure): throw IngestError.unreadable(input: input.name, reason: failure.message)
        case .moved(let track): throw MovedTracks.failure(track, input: input.name)
        case .over, nil: return
        }
    }

    /// Whether everything that was read is delivered. What can never be placed is not waited for.
    private var isOver: Bool {
        guard ending != nil else { return false }
        return !timing.isPlaced || ((video?.isFinished ?? true) && (audio?.isFinished ?? true))
    }

    /// Whether as much waits to be decoded as is kept, of a playlist, whose segments can wait on their server.
    private var isFull: Bool {
        guard input.demuxer.targetDuration != nil else { return false }
        return [video?.decoder, audio?.decoder].contains { ($0?.queue.bytes ?? 0) > Self.pauseBytes }
    }

    private func takePackets() {
        if isFull { return }
        let (packets, ending) = pump.take()
        self.ending = ending
        for (track, packet) in packets {
            copies?.take(packet)
            if audio?.isFinished == true, track == .audio { continue }
            let decoder = track == .video ? video?.decoder : audio?.decoder
            decoder?.queue.append(packet)
            decoder?.queue.trim(isLive: true)
        }
    }

    /// Decodes a frame if it is time to. Returns whether anything was done.
    private func step(_ video: VideoTrack?) throws(IngestError) -> Bool {
        guard let video, !video.isFinished, isTime(for: video.decoder, .video) else { return false }
        switch video.step(inputEnded: ending != nil, place: { ($0, nil) }) {
        case .needsPacket: return false
        case .advanced, .ended: return true
        case .failed(let failure):
            throw failure.isMissingLibrary
                ? IngestError.missingLibrary(input: input.name, reason: failure.message)
                : IngestError.cannotBeDecoded(input: input.name, reason: failure.message)
        }
    }

    /// Decodes a run of audio if it is time to. Returns whether anything was done.
    private func step(_ audio: LiveAudioTrack?) throws(IngestError) -> Bool {
        guard let audio, !audio.isFinished, sink.programTime.line != nil, isTime(for: audio.decoder, .audio) else {
            return false
        }
        switch audio.step(inputEnded: ending != nil) {
        case .needsPacket: return false
        case .advanced, .ended: return true
        case .failed(let failure):
            guard video != nil else {
                throw IngestError.cannotBeDecoded(input: input.name, reason: failure.message)
            }
            audio.giveUp()
            monitor.update { $0.lastError = failure.description }
            monitor.logger.warning(
                "the audio decoder is broken; the input goes on without audio", metadata: ["reason": "\(failure)"])
            return true
        }
    }

    /// Whether the next packet is to be decoded now. At the input's end the decoder is drained.
    private func isTime(for decoder: TrackDecoder, _ track: TrackKind) -> Bool {
        guard timing.isPlaced else { return false }
        guard let next = decoder.queue.firstTime else { return ending != nil }
        return timing.isTimeToDecode(next, of: track, now: Timestamp(nanoseconds: clock.now))
    }
}
