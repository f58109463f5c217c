// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import Media

/// Computes when the program begins to make each frame, and whether the program keeps up with its clock. A program that
/// must not skip frames and is more than 0.5 s behind its clock catches up at 1.25 times its frame rate. A faster rate
/// would flood the outputs.
struct Pace {
    /// What the program's thread spends its time on.
    enum Cost: Equatable {
        /// Waiting for a file that is read or decoded too slowly.
        case source
        /// Composing and encoding frames.
        case encoder
        /// Sleeping longer than the program's thread asked for.
        case sleep
    }

    /// A log message for when the program falls behind its clock or has caught up.
    struct Change: Equatable {
        let level: Logger.Level
        let text: String
    }

    /// The program catches up a lag of at most this length as fast as it can.
    static let longestBurst = Duration.milliseconds(500)
    /// If a single wait takes at least this long, the program counts as having stopped, not as being slow.
    private static let stop = Duration.milliseconds(500)

    /// The program's clock, which may follow a source.
    var reference: ReferenceClock
    /// How many frames the program runs ahead of its clock; nil for a program that runs as fast as the encoder can.
    private let lead: Int64?
    /// The shortest time between the beginnings of two frames while the program catches up: four fifths of a frame's
    /// duration.
    private let step: Duration
    /// When the last frame was begun; nil unless the program is catching up at 1.25 times its frame rate.
    private var caughtUpFrom: MonotonicInstant?
    private var isBehind = false
    /// How much time the program's thread spent on each cost since the program was last on time, and the longest single
    /// time among these.
    private var spent: (source: Duration, encoder: Duration) = (.zero, .zero)
    private var longest: (cost: Cost, time: Duration) = (.encoder, .zero)

    init(frameRate: FrameRate, pacing: Program.Pacing, start: MonotonicInstant) {
        reference = ReferenceClock(frameRate: frameRate, start: start)
        step = frameRate.timeBase.duration(1) * 4 / 5
        lead = if case .realTime(let lead) = pacing { lead } else { nil }
    }

    /// Returns when frame `index` is due, according to the present state of the program's clock; nil for a program that
    /// runs as fast as the encoder can. A program that runs ahead makes the first frames at once, so these are due at
    /// the start.
    func moment(of index: FrameIndex) -> MonotonicInstant? {
        guard let lead else { return nil }
        return reference.moment(of: max(0, index - lead))
    }

    /// Returns when the program should begin the frame that is due at `moment`. While the program catches up, this can
    /// be later than `moment`.
    func beginning(due moment: MonotonicInstant) -> MonotonicInstant {
        caughtUpFrom.map { max(moment, $0 + step) } ?? moment
    }

    /// Records that the program began a frame at `now`, and that the frame was due `lag` earlier.
    mutating func noteBeginning(at now: MonotonicInstant, lag: Duration) {
        // If the lag is less than a fifth of a frame's duration, the program has caught up: the next frame can begin
        // exactly when it is due.
        let isCatchingUp = lag > Self.longestBurst || caughtUpFrom != nil && lag > step / 4
        caughtUpFrom = isCatchingUp ? now : nil
    }

    /// Records that the program's thread spent `time` on `cost`.
    mutating func note(_ cost: Cost, took time: Duration) {
        switch cost {
        case .source: spent.source += time
        case .encoder: spent.encoder += time
        case .sleep: break
        }
        if time > longest.time { longest = (cost, time) }
    }

    /// Records by how much a frame is late. Returns a message to log when the program has fallen more than a second
    /// behind its clock, and again when it has caught up; otherwise nil.
    mutating func noteLag(_ lag: Duration) -> Change? {
        defer { if lag < .milliseconds(100) { forget() } }
        if !isBehind, lag > .seconds(1) {
            isBehind = true
            return Change(level: .warning, text: "the program is more than 1 s behind: \(reason(of: lag))")
        }
        if isBehind, lag < .milliseconds(100) {
            isBehind = false
            return Change(level: .notice, text: "the program has caught up")
        }
        return nil
    }

    private mutating func forget() {
        spent = (.zero, .zero)
        longest = (.encoder, .zero)
    }

    /// Says why the program is behind its clock by `lag`. If one long wait explains most of the lag, this wait is the
    /// reason. Otherwise the reason is the cost on which the thread spent the most time in total.
    private func reason(of lag: Duration) -> String {
        let seconds = (longest.time.inSeconds * 10).rounded() / 10
        if longest.time >= Self.stop, longest.time * 2 > lag {
            return longest.cost == .source
                ? "the input gave nothing for \(seconds) s"
                : "the program stood still for \(seconds) s, as when its machine is paused or a disk does not answer"
        }
        if spent.source > spent.encoder { return "the input is read or decoded too slowly" }
        return "the encoder cannot keep up; use a faster --preset, a smaller --size or a lower --fps"
    }
}
