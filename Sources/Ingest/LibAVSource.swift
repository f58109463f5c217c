// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media

/// A file that libav reads. The file is played once, or in a loop. If the coding changes within the file, the file is
/// opened again at that point. If a loop fails after it has delivered media, the file is opened again after 1 to 5 s,
/// as often as necessary, unless a new attempt cannot repair the failure.
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
        let loop = ReopenLoop(location.description, monitor: monitor)
        // While the looped file is being opened again, a program that depends on this source continues without the
        // source.
        let markStarved = {
            sink.markStarved(.video)
            sink.markStarved(.audio)
        }
        loop.run(
            lasts: { monitor.isAtChange || (options.loop && $0 != nil && loopEnd != nil) }, pausing: markStarved
        ) {
            play(in: loop, into: sink, video: video, audio: audio, loopEnd: &loopEnd)
        }
        sink.end(.video)
        sink.end(.audio)
    }

    /// Opens the input, plays it to its end or to a change of its coding, and closes it. `loopEnd` is the position, in
    /// samples, at which the media delivered so far ends; nil if nothing was delivered.
    private func play(
        in loop: ReopenLoop, into sink: any SourceSink, video: VideoFormat?, audio: AudioFormat?, loopEnd: inout Int64?
    ) -> IngestError? {
        do throws(IngestError) {
            let begin = monitor.isAtChange ? .zero : options.start
            let input = try opening.open(in: loop)
            let reader = try SourceReader(
                input, into: sink, video: video, audio: audio, loops: options.loop, start: loopEnd ?? 0,
                from: begin, monitor: monitor)
            do throws(IngestError) {
                try reader.run()
            } catch {
                loopEnd = reader.breakOff() ?? loopEnd
                throw error
            }
            if monitor.isStopped { return nil }
            loopEnd = reader.breakOff() ?? loopEnd
            if reader.isAtChange {
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
