// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Program

/// The state of a run-down that is remembered while its channel is closed.
struct RunDownMemory {
    let runDown: RunDown
    /// The run-down that the configuration named.
    let configured: RunDown?
    /// The segment that was running or held; nil if no segment was.
    let segment: Int?
    let isHeld: Bool
    /// Whether another scene was on air.
    let isCutAway: Bool
    /// The failures of the channel during each segment, by the segment's number: of segments that have not ended since,
    /// and of segments that are skipped because of their failures.
    var failures: [Int: Int]

    /// After this many failures of the channel during one segment, the segment is skipped.
    static let mostFailures = 2

    /// Counts a failure of the channel for the segment that was on air.
    mutating func noteFailure() {
        guard let segment, !isCutAway else { return }
        failures[segment, default: 0] += 1
    }
}

/// A run-down that is loaded: its player, and the files that are open for it.
struct RunDownState {
    var player: RunDownPlayer
    var clips: [RunDownPlayer.ClipID: RunDownClip] = [:]
    /// The lengths of the run-down's files; nil in a rendered program.
    var lengths: RunDownLengths?
    /// Files of the previous run-down, one of which may be on air.
    var former: [RunDownClip] = []
    /// The frame from which none of the former files is visible; nil until another scene goes on air.
    var formerEnd: FrameIndex?
    /// The frame at which another scene replaces the former files.
    var formerChange: FrameIndex?
    /// The first frame for which the player was not called yet.
    var next: FrameIndex = 0
    /// The failures of the channel, see ``RunDownMemory/failures``.
    private(set) var failures: [Int: Int] = [:]

    /// Restores the failures from before the channel was reopened: skips segments that made the channel fail too often.
    mutating func restore(failures: [Int: Int]) {
        self.failures = failures
        for (segment, count) in failures where count >= RunDownMemory.mostFailures {
            player.bar(segment, because: "the channel failed \(count) times while it was on air")
        }
    }

    /// Forgets the failures of segments that have ended since, and of one that an operator started: it gets another
    /// chance.
    mutating func forgetFailures() {
        if failures.isEmpty { return }
        let current = player.currentSegment
        failures = failures.filter { $0.key == current || player.barred[$0.key] != nil }
    }

    /// Reports the state of its files to the player.
    mutating func look() {
        for (id, isStarted) in player.openClips {
            guard let clip = clips[id] else { continue }
            switch clip.condition {
            case .opening: break
            case .ready(let frames): if !isStarted { player.ready(id, frames: frames) }
            case .failed(let reason): player.failed(id, reason)
            }
            if isStarted, let end = clip.end { player.ended(id, at: end, fault: clip.fault) }
        }
    }
}

extension RunDownState {
    /// Notes that another scene goes on air at `frame`, by a transition of `frames` frames.
    mutating func noteChange(at frame: FrameIndex, frames: Int64) {
        guard !former.isEmpty else { return }
        guard let end = formerEnd else { return (formerEnd, formerChange) = (frame + frames + 1, frame) }
        // A transition that interrupts the one from the former files begins with the frame that is on the screen.
        if end > frame { formerEnd = max(end, frame + frames + 1) }
    }

    /// Removes and returns the files of the previous run-down that are not visible any more.
    mutating func takeFormer(by frame: FrameIndex) -> [RunDownClip] {
        guard let formerEnd, formerEnd <= frame else { return [] }
        defer { (former, self.formerEnd, formerChange) = ([], nil, nil) }
        return former
    }
}
