// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import Media

/// Computes when each program frame begins, and whether the program keeps up. After a stop of more than 0.5 s, a
/// program that shows every frame catches up at 1.25 times its rate, because a faster one would flood the outputs.
struct Pace {
    /// On what the program's thread spends time that it does not have.
    enum Cost: Equatable {
        /// The wait for a file that is read or decoded too slowly.
        case source
        /// Composing and encoding.
        case encoder
        /// A sleep that ended too late.
        case sleep
    }

    /// A log message that says whether the program keeps up.
    struct Change: Equatable {
        let level: Logger.Level
        let text: String
    }

    /// The longest lag that is caught up as fast as possible.
    static let longestBurst = Duration.milliseconds(500)
    /// A single wait of this length is a stop, not slowness.
    private static let stop = Duration.milliseconds(500)

    /// The program's clock.
    var reference: ReferenceClock
    /// How many frames the program runs ahead of the clock; nil for an unpaced program.
    private let lead: Int64?
    /// The shortest time between two frames while the program catches up slowly: four fifths of a frame's duration.
    private let step: Duration
    /// When the last frame began, while the program catches up slowly.
    private var caughtUpFrom: Timestamp?
    private var isBehind = false
    /// What the program's thread spent since it was last on time, and the longest single wait.
    private var spent: (source: Duration, encoder: Duration) = (.zero, .zero)
    private var longest: (cost: Cost, time: Duration) = (.encoder, .zero)

    init(frameRate: FrameRate, pacing: Program.Pacing, start: Timestamp) {
        reference = ReferenceClock(frameRate: frameRate, start: start)
        step = frameRate.timeBase.duration(1) * 4 / 5
        lead = if case .realTime(let lead) = pacing { lead } else { nil }
    }

    /// Returns the time at which frame `index` is due, by the present clock. The frames by which the program runs ahead
    /// are due at the start. Nil for an unpaced program.
    func moment(of index: FrameIndex) -> Timestamp? {
        guard let lead else { return nil }
        return reference.moment(of: max(0, index - lead))
    }

    /// Returns the time at which a frame that is due at `moment` begins: later than that while the program catches up.
    func beginning(due moment: Timestamp) -> Timestamp { caughtUpFrom.map { max(moment, $0 + step) } ?? moment }

    /// Records that a frame began at `now`, `lag` after it was due.
    mutating func noteBeginning(at now: Timestamp, lag: Duration) {
        // Below a fifth of a frame's duration, the next frame is due no sooner than it would begin anyway.
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

    /// Records a frame's lag and returns what to log: one message when the program has fallen a second behind, and one
    /// when it has caught up.
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

    /// Why the program is `lag` behind: one long wait, or else what took the most time.
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
