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

    /// A log message about keeping up.
    struct Change: Equatable {
        let level: Logger.Level
        let text: String
    }

    init(frameRate: FrameRate, pacing: Program.Pacing, start: Timestamp) {
        reference = ReferenceClock(frameRate: frameRate, start: start)
        lead = if case .realTime(let lead) = pacing { lead } else { nil }
    }

    /// Returns when frame `index` is due at present. The frames of the lead are due at the start, because nothing paces
    /// them; nil for an unpaced program.
    func moment(of index: FrameIndex) -> Timestamp? {
        guard let lead else { return nil }
        return reference.moment(of: max(0, index - lead))
    }

    /// Takes a frame's lag and returns what to log: once when the program falls a second behind, and once when it has
    /// caught up.
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
