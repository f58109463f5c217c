// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media
internal import Synchronization

/// Plays a clip again and again on its own thread, each beat at its time.
final class Feed: Sendable {
    /// The times at which the latest frames were published, by number; enough of them for the longest queue.
    struct Published {
        static let kept = 1024
        var count = 0
        var times = [MonotonicInstant](repeating: .zero, count: kept)
    }

    private let queue = DispatchQueue(label: "bench.feed", qos: .userInteractive)
    private let done = DispatchSemaphore(value: 0)
    private let isStopped = Atomic(false)
    private let state = Mutex(Published())

    /// Begins at once to pass `clip` to `publish`.
    func start(_ clip: Clip, publish: @escaping @Sendable (Clip.Beat, Duration) -> Void) {
        queue.async {
            let clock = SystemClock()
            let begin = clock.now
            let origin = clip.beats[0].video.programDts
            var lap = Duration.zero
            while true {
                for beat in clip.beats {
                    clock.sleep(until: begin + lap + (beat.video.programDts - origin))
                    if self.isStopped.load(ordering: .relaxed) {
                        self.done.signal()
                        return
                    }
                    self.note(clock.now)
                    publish(beat, lap)
                }
                lap += clip.length
            }
        }
    }

    /// Stops after the current beat; blocks until then.
    func stop() {
        isStopped.store(true, ordering: .relaxed)
        done.wait()
    }

    /// The frames that were published so far.
    var published: Published { state.withLock { $0 } }

    private func note(_ time: MonotonicInstant) {
        state.withLock { state in
            state.times[state.count % Published.kept] = time
            state.count += 1
        }
    }
}
