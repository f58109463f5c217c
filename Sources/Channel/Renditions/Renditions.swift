// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Kernels
internal import Media
internal import Program
internal import Synchronization

/// Hands each frame of a program, and its audio, to the encoders of its renditions on the way to its own. What the encoders
/// of renditions do costs the program no time.
final class Renditions: ProgramSink {
    /// How long the encoders may continue with what was taken once a thread waits for the end.
    private static let patience: Int64 = 1_500_000_000

    /// All renditions, in the order in which they were asked for.
    let all: [Rendition]
    /// The encoders by size: those of one size share the frames that are scaled to it. Without a resizer the size is
    /// the program's.
    private let sizes: [(resizer: FrameResizer?, encoders: [BackgroundEncoder])]
    /// The program's own encoder.
    let next: any ProgramSink
    private let clock: any MonotonicClock
    private let hurryingSince = Mutex<Int64?>(nil)
    /// How many encoders are at work.
    private let working = DispatchGroup()

    /// Renditions of a program of `format`, which is passed on to `next`.
    init(_ all: [Rendition], of format: VideoFormat, before next: any ProgramSink, clock: any MonotonicClock) {
        (self.all, self.next, self.clock) = (all, next, clock)
        sizes = Dictionary(grouping: all) { FrameSize(width: $0.format.width, height: $0.format.height) }
            .map { (size, renditions) -> (resizer: FrameResizer?, encoders: [BackgroundEncoder]) in
                let isScaled = size != FrameSize(width: format.width, height: format.height)
                let resizer = isScaled ? FrameResizer(from: format, to: renditions[0].format) : nil
                return (resizer: resizer, encoders: renditions.map(\.encoder))
            }
    }

    /// Begins to encode what comes. To be called once.
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

    /// Tells the encoders that a thread waits for the end. Returns at once.
    func hurry() { hurryingSince.withLock { $0 = $0 ?? clock.now } }

    /// Takes nothing more, and returns when all that was taken is published, or is left out because that takes too long
    /// after ``hurry()``.
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
