// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import Media

/// Computes when each program frame is due, and whether the program keeps up.
struct Pace {
    /// The program's clock.
    var reference: ReferenceClock
    /// How many frames the program runs ahead of the clock; nil for an unpaced program.
    private let lead: Int64?
    private var isBehind = false

    /// A log message that says whether the program keeps up.
    struct Change: Equatable {
        let level: Logger.Level
        let text: String
    }

    init(frameRate: FrameRate, pacing: Program.Pacing, start: Timestamp) {
        reference = ReferenceClock(frameRate: frameRate, start: start)
        lead = if case .realTime(let lead) = pacing { lead } else { nil }
    }

    /// Returns the time at which frame `index` is due, by the present clock. The frames by which the program runs ahead
    /// are due at the start. Nil for an unpaced program.
    func moment(of index: FrameIndex) -> Timestamp? {
        guard let lead else { return nil }
        return reference.moment(of: max(0, index - lead))
    }

    /// Records a frame's lag and returns what to log: one message when the program has fallen a second behind, and one
    /// when it has caught up.
    mutating func noteLag(_ lag: Duration) -> Change? {
        if !isBehind, lag > .seconds(1) {
            isBehind = true
            return Change(
                level: .warning,
                text: "the encoder cannot keep up: the program is more than 1 s behind; "
                    + "use a faster --preset, a smaller --size or a lower --fps")
        }
        if isBehind, lag < .milliseconds(100) {
            isBehind = false
            return Change(level: .notice, text: "the program has caught up")
        }
        return nil
    }
}
