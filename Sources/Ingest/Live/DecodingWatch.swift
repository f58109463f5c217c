// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import Media

/// Reports to a source's monitor when the machine does not decode the source in time. If the monitor allows it,
/// decoding is then reduced to keyframes. Used by the decoding thread.
final class DecodingWatch {
    private let timing: SourceTiming
    private let monitor: SourceMonitor
    private let name: String
    private let clock: any MonotonicClock
    private var load: DecodingLoad

    /// Creates a watch over the source whose clock is `timing` and whose name in logs is `name`. All frames of the
    /// source are decoded at first.
    init(_ timing: SourceTiming, monitor: SourceMonitor, name: String, clock: any MonotonicClock) {
        (self.timing, self.monitor, self.name, self.clock) = (timing, monitor, name, clock)
        load = DecodingLoad(at: clock.now)
        restore()
    }

    /// Records that the input was opened, or that its sender restarted. All frames are decoded at first, because the
    /// new media might be easier to decode than the earlier media.
    func begin() {
        load = DecodingLoad(at: now)
        restore()
    }

    private var now: MonotonicInstant { clock.now }

    /// Called after the decoding thread has paused, because no packet was due.
    func rest() { perform(load.rested(at: now)) }

    /// Records that a frame was decoded and delivered.
    func note(_ frame: VideoFrame) {
        let time = Timestamp(frame.pts, in: frame.timeBase)
        let (isOverdue, action) = load.decoded(
            time, due: timing.due(time, of: .video), at: now, mayReduce: monitor.mayReduce)
        if isOverdue { monitor.update { $0.framesOverdue += 1 } }
        perform(action)
    }

    private func perform(_ action: DecodingLoad.Action?) {
        switch action {
        case nil: break
        case .reduce(let slowness):
            let words = Double((slowness * 10).rounded()) / 10
            monitor.isReduced = true
            monitor.update {
                $0.overload = "Not decoded in time: a second of it takes \(words) s here. Only keyframes are shown."
            }
            monitor.logger.warning(
                "the machine cannot decode the input in time; only its keyframes are shown",
                metadata: ["input": "\(name)", "seconds_for_one": "\(words)"])
        case .restore: restore()
        }
    }

    private func restore() {
        if monitor.isReduced {
            monitor.logger.notice("all of the input is decoded again", metadata: ["input": "\(name)"])
        }
        monitor.isReduced = false
        monitor.update { $0.overload = nil }
    }
}
