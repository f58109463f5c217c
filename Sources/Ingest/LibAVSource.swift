// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media

/// A file that libav reads. The file is played once, or in a loop. If the coding changes within the file, the file is
/// opened again at that point. If a looped file fails after it has delivered media, or if a later round delivers
/// nothing, the file is opened again after 1 to 5 s, as often as necessary, unless a new attempt cannot repair the
/// failure.
final class LibAVSource: MediaSource {
    /// How far the file has been played.
    private struct Progress {
        /// Where the next part begins, if the file is opened because of a change of its coding.
        var begin = StartPoint.beginning
        /// Where the media ends that was delivered so far, in samples; nil if nothing was delivered.
        var end: Int64?
        /// Whether a part of the current round of the loop has delivered media.
        var hasMedia = false

        /// Records that a part has ended at `end`; nil if it delivered nothing.
        mutating func endPart(at end: Int64?) {
            self.end = end ?? self.end
            hasMedia = hasMedia || end != nil
        }
    }

    let description: SourceDescription
    private let location: InputLocation
    private let options: IngestOptions
    private let monitor: SourceMonitor
    private let queue: DispatchQueue
    private let opening: RepeatedOpening
    private let startOnce = StartOnce()

    /// Creates a source that plays `input`, a file that was opened at `location` with `options`.
    init(_ input: sending OpenedInput, at location: InputLocation, options: IngestOptions, monitor: SourceMonitor) {
        (self.location, self.options, self.monitor) = (location, options, monitor)
        description = input.description
        queue = DispatchQueue(label: "relay.ingest.\(location.description)")
        opening = RepeatedOpening(input, at: location, options: options, monitor: monitor)
    }

    var status: SourceStatus { monitor.status }

    func start(into sink: any SourceSink, video: VideoFormat?, audio: AudioFormat?) {
        guard startOnce.begin() else { return }
        queue.async { [self] in deliver(into: sink, video: video, audio: audio) }
    }

    func stop() { monitor.stop() }

    private func deliver(into sink: any SourceSink, video: VideoFormat?, audio: AudioFormat?) {
        var progress = Progress()
        let loop = ReopenLoop(location.description, monitor: monitor, isLive: false)
        // While the looped file is being opened again, a program that depends on this source continues without the
        // source.
        let markStarved = {
            sink.markStarved(.video)
            sink.markStarved(.audio)
        }
        loop.run(
            lasts: { monitor.isAtChange || (options.loop && $0 != nil && progress.end != nil) }, pausing: markStarved
        ) {
            let failure = play(in: loop, into: sink, video: video, audio: audio, &progress)
            if failure != nil { progress.hasMedia = false }
            return failure
        }
        sink.end(.video)
        sink.end(.audio)
    }

    /// Opens the input, plays it to its end or to a change of its coding, and closes it. Updates `progress`. Returns the
    /// failure that ended the input.
    private func play(
        in loop: ReopenLoop, into sink: any SourceSink, video: VideoFormat?, audio: AudioFormat?,
        _ progress: inout Progress
    ) -> IngestError? {
        do throws(IngestError) {
            let start = monitor.isAtChange ? progress.begin : .moment(options.start)
            let input = try opening.open(in: loop)
            let reader = try SourceReader(
                input, into: sink, video: video, audio: audio, loops: options.loop, start: progress.end ?? 0,
                from: start, isFirst: loop.isFirst, monitor: monitor)
            progress.begin = .beginning
            do throws(IngestError) {
                try reader.run()
            } catch {
                progress.endPart(at: reader.breakOff())
                throw error
            }
            if monitor.isStopped { return nil }
            progress.endPart(at: reader.breakOff())
            if reader.isAtChange {
                progress.begin = reader.startBehindChange
                monitor.keepConnection(of: input.demuxer)
            } else if options.loop, progress.end != nil {
                try endRound(isBeforeStart: reader.isBeforeStart, &progress)
            }
            return nil
        } catch {
            return error
        }
    }

    /// Makes the next round of the loop begin at the start of the file. Throws if this round has delivered nothing,
    /// because the file was replaced: it would otherwise be opened again and again without a pause. If the round
    /// `isBeforeStart`, the file ends before the requested start time, and the next round can deliver media.
    private func endRound(isBeforeStart: Bool, _ progress: inout Progress) throws(IngestError) {
        guard progress.hasMedia || isBeforeStart else { throw IngestError.empty(input: location.description) }
        progress.hasMedia = false
        monitor.beginAgain()
    }
}
