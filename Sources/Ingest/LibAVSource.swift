// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Logging
internal import Media
internal import SourceClock
internal import Synchronization

/// A file, URL or device that libav reads.
///
/// A file ends at its end, or begins again. A live input that ends or fails is opened again for ever, after 1 to 5 s;
/// so is a loop that once delivered something and then fails. A failure that opening again cannot mend ends them all.
final class LibAVSource: MediaSource {
    let description: SourceDescription
    private let location: InputLocation
    private let options: IngestOptions
    private let monitor: SourceMonitor
    private let queue: DispatchQueue
    private let opened: Mutex<OpenedInput?>
    private let startOnce = StartOnce()

    /// Opens `location`. Blocks; stopping `monitor`, which is the source's from now on, ends that.
    init(
        _ location: InputLocation, options: IngestOptions, logger: Logger, monitor: SourceMonitor? = nil
    ) throws(IngestError) {
        let monitor = monitor ?? SourceMonitor(logger: logger)
        monitor.stall.withLock { $0.findEnd = location.playlistEnd }
        let input = try OpenedInput(location, options: options, monitor: monitor)
        self.location = location
        self.options = options
        self.monitor = monitor
        description = input.description
        queue = DispatchQueue(label: "relay.ingest.\(location.description)")
        opened = Mutex(input)
    }

    var status: SourceStatus { monitor.status }

    func start(into sink: any SourceSink, video: VideoFormat?, audio: AudioFormat?) {
        guard startOnce.begin() else { return }
        queue.async { [self] in deliver(into: sink, video: video, audio: audio) }
    }

    func stop() { monitor.stop() }

    private func deliver(into sink: any SourceSink, video: VideoFormat?, audio: AudioFormat?) {
        let clock = SystemClock()
        var schedule = ReopenSchedule()
        var openedAt: Int64? = clock.now
        var loopEnd: Int64?
        var timing: SourceTiming?
        let play = { (open: () throws(IngestError) -> OpenedInput) in
            self.play(open, into: sink, video: video, audio: audio, loopEnd: &loopEnd, timing: &timing)
        }
        var failure = play(takeOpened)
        while description.isLive || (failure != nil && loopEnd != nil), failure?.isPermanent != true, !monitor.isStopped
        {
            if !monitor.isAtChange {
                let time = Duration.nanoseconds(openedAt.map { clock.now - $0 } ?? 0)
                let delay = monitor.pauseToReopen(schedule.fail(after: time))
                monitor.noteInterruption(location.description, failure, schedule, delay)
                markStarved(sink)
                monitor.pause(delay)
                if monitor.isStopped { break }
                monitor.update { $0.state = .opening }
            }
            openedAt = nil
            failure = play { () throws(IngestError) in
                let input = try reopen(isWorthLogging: schedule.isWorthLogging)
                openedAt = clock.now
                return input
            }
        }
        monitor.noteEnd(failure)
        sink.end(.video)
        sink.end(.audio)
    }

    /// Lets a program that waits for its source continue while a loop is opened again.
    private func markStarved(_ sink: any SourceSink) {
        if description.isLive { return }
        sink.markStarved(.video)
        sink.markStarved(.audio)
    }

    /// Plays what `open` yields, and closes it: an address must be free before it can be opened again. `loopEnd` is
    /// where what a loop delivered so far ends, in samples; nil if the input does not loop, or delivered nothing.
    /// `timing` is a live source's clock, made when the source is played first.
    private func play(
        _ open: () throws(IngestError) -> OpenedInput, into sink: any SourceSink, video: VideoFormat?,
        audio: AudioFormat?, loopEnd: inout Int64?, timing: inout SourceTiming?
    ) -> IngestError? {
        do throws(IngestError) {
            let input = try open()
            let found = input.description.video
            monitor.update { status in
                status.state = .running
                // The one from before stays until the next keyframe of an input that was opened again.
                if input.knowsVideo || status.video == nil { status.video = found }
            }
            if description.isLive {
                let timing = time(input, with: &timing, into: sink, video: video, audio: audio)
                try readLive(input, into: sink, video: video, audio: audio, timing: timing)
                return nil
            }
            let reader = try SourceReader(
                input, into: sink, video: video, audio: audio, loops: options.loop && !description.isLive,
                start: loopEnd ?? 0, from: options.start, monitor: monitor)
            do throws(IngestError) {
                try reader.run()
            } catch {
                loopEnd = reader.breakOff() ?? loopEnd
                throw error
            }
            return nil
        } catch {
            return error
        }
    }

    /// Plays a live input to its end.
    private func readLive(
        _ input: OpenedInput, into sink: any SourceSink, video: VideoFormat?, audio: AudioFormat?, timing: SourceTiming
    ) throws(IngestError) {
        do throws(IngestError) {
            try LiveReader(input, into: sink, video: video, audio: audio, timing: timing, monitor: monitor).run()
        } catch {
            monitor.keepConnection(of: input.demuxer, after: error)
            throw error
        }
        monitor.keepConnection(of: input.demuxer)
    }

    /// The clock of a live source: made for its first input, told of each later one.
    private func time(
        _ input: OpenedInput, with timing: inout SourceTiming?, into sink: any SourceSink, video: VideoFormat?,
        audio: AudioFormat?
    ) -> SourceTiming {
        let wanted: Set<TrackKind> = Set([video.map { _ in .video }, audio.map { _ in .audio }].compactMap(\.self))
        let tracks = input.stamps.filter { wanted.contains($0.key) }
        let settings = SourceClockSettings.of(
            input.demuxer, video: input.video?.stream, frameRate: input.frameRate, latency: location.latency)
        if let timing {
            timing.restart(tracks, as: settings)
            return timing
        }
        // Audio alone is not held against video of the same input, so its offset is a delay.
        let delay = options.delay + (video == nil ? max(.zero, location.tracks.audioOffset) : .zero)
        let made = SourceTiming(
            SourceClock(
                settings, tracks: tracks, common: location.latency == nil ? options.commonBuffer : nil),
            frameRate: video?.frameRate ?? FrameRate(25), programTime: sink.programTime, delay: delay,
            name: location.description, monitor: monitor)
        sink.attach(made)
        timing = made
        return made
    }

    /// The input that was opened when the source was made.
    private func takeOpened() throws(IngestError) -> OpenedInput {
        let input = opened.withLock { input in
            let taken = input
            input = nil
            return taken
        }
        guard let input else { throw IngestError.empty(input: location.description) }
        return input
    }

    private func reopen(isWorthLogging: Bool) throws(IngestError) -> OpenedInput {
        try monitor.checkPlaylistAdvances(location.description)
        let isAtChange = monitor.isAtChange
        let input = try OpenedInput(location, options: options, isReopened: true, monitor: monitor)
        if isAtChange {
            monitor.noteChange(location.description, [input.video, input.audio].compactMap { $0?.stream })
        } else {
            monitor.noteOpenAgain(location.description, isWorthLogging: isWorthLogging)
        }
        return input
    }
}
