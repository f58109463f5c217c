// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Kernels
internal import Media
internal import Program
internal import Synchronization

/// Hands each frame of a program, and its audio, to the encoders of its renditions and then to the program's own
/// encoder. The work of the renditions' encoders does not delay the program.
final class Renditions: ProgramSink {
    /// The maximum time for which the encoders continue after ``hurry()``.
    private static let patience = Duration.milliseconds(1500)

    /// All renditions, in the configured order.
    let all: [Rendition]
    /// The encoders, grouped by frame size: encoders of the same size share the scaled frames. A group without a
    /// resizer has the size of the program.
    private let sizes: [(resizer: FrameResizer?, encoders: [BackgroundEncoder])]
    /// The program's own encoder.
    let next: any ProgramSink
    private let clock: any MonotonicClock
    private let hurryingSince = Mutex<MonotonicInstant?>(nil)
    /// This group is left when all encoders have ended.
    private let working = DispatchGroup()

    /// Creates the sink for a program of `format` with the renditions `all`. All frames and audio are also passed on to
    /// `next`.
    init(_ all: [Rendition], of format: VideoFormat, before next: any ProgramSink, clock: any MonotonicClock) {
        (self.all, self.next, self.clock) = (all, next, clock)
        sizes = Dictionary(grouping: all) { FrameSize(width: $0.format.width, height: $0.format.height) }
            .map { (size, renditions) -> (resizer: FrameResizer?, encoders: [BackgroundEncoder]) in
                let isScaled = size != FrameSize(width: format.width, height: format.height)
                let resizer = isScaled ? FrameResizer(from: format, to: renditions[0].format) : nil
                return (resizer: resizer, encoders: renditions.map(\.encoder))
            }
    }

    /// Begins to encode frames and audio. To be called once.
    func start() {
        for rendition in all {
            working.enter()
            rendition.encoder.start { [working] in working.leave() }
        }
    }

    func encode(_ frame: VideoFrame, at index: Int64) throws {
        for (resizer, encoders) in sizes {
            let resized = resizer.map { ResizedFrame(frame, by: $0) }
            for encoder in encoders { encoder.take(frame, resized, at: index) }
        }
        try next.encode(frame, at: index)
    }

    func encode(_ audio: AudioBuffer) throws {
        for rendition in all { rendition.encoder.take(audio) }
        try next.encode(audio)
    }

    func finish() throws {
        for rendition in all { rendition.encoder.finish() }
        try next.finish()
    }

    /// Limits the time that ``end()`` can take, because a thread waits for the program's end. Returns at once.
    func hurry() { hurryingSince.withLock { $0 = $0 ?? clock.now } }

    /// Accepts no more input. Blocks until all input that was accepted before is published. If ``hurry()`` was called
    /// and this takes too long, the rest of the input is dropped.
    func end() {
        for rendition in all { rendition.encoder.finish() }
        while working.wait(timeout: .now() + .milliseconds(50)) == .timedOut {
            guard let since = hurryingSince.withLock({ $0 }), clock.now - since > Self.patience else { continue }
            for rendition in all { rendition.encoder.cancel() }
            _ = working.wait(timeout: .now() + .milliseconds(200))
            return
        }
    }
}
