// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media

/// A file that libav reads. The file is played once, or in a loop. If the coding changes within the file, the file is
/// opened again at that point. If a looped file fails after it has delivered media, the file is opened again after 1 to
/// 5 s, as often as necessary, unless a new attempt cannot repair the failure.
final class LibAVSource: MediaSource {
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
        var loopEnd: Int64?
        var begin = StartPoint.beginning
        let loop = ReopenLoop(location.description, monitor: monitor, isLive: false)
        // While the looped file is being opened again, a program that depends on this source continues without the
        // source.
        let markStarved = {
            sink.markStarved(.video)
            sink.markStarved(.audio)
        }
        loop.run(
            lasts: { monitor.isAtChange || (options.loop && $0 != nil && loopEnd != nil) }, pausing: markStarved
        ) {
            play(in: loop, into: sink, video: video, audio: audio, from: &begin, loopEnd: &loopEnd)
        }
        sink.end(.video)
        sink.end(.audio)
    }

    /// Opens the input, plays it to its end or to a change of its coding, and closes it. If it is opened because of
    /// such a change, it is played from `begin`. `loopEnd` is where the media ends that was delivered so far, in
    /// samples; nil if nothing was delivered. Updates both for the next call.
    private func play(
        in loop: ReopenLoop, into sink: any SourceSink, video: VideoFormat?, audio: AudioFormat?,
        from begin: inout StartPoint, loopEnd: inout Int64?
    ) -> IngestError? {
        do throws(IngestError) {
            let start = monitor.isAtChange ? begin : .moment(options.start)
            let input = try opening.open(in: loop)
            let reader = try SourceReader(
                input, into: sink, video: video, audio: audio, loops: options.loop, start: loopEnd ?? 0,
                from: start, isFirst: loop.isFirst, monitor: monitor)
            begin = .beginning
            do throws(IngestError) {
                try reader.run()
            } catch {
                loopEnd = reader.breakOff() ?? loopEnd
                throw error
            }
            if monitor.isStopped { return nil }
            loopEnd = reader.breakOff() ?? loopEnd
            if reader.isAtChange {
                begin = reader.startBehindChange
                monitor.keepConnection(of: input.demuxer)
            } else if options.loop, loopEnd != nil {
                monitor.beginAgain()
            }
            return nil
        } catch {
            return error
        }
    }
}
