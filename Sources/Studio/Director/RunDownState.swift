// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Program

/// The state of a run-down that is stored while its channel is closed.
struct RunDownMemory {
    let runDown: RunDown
    /// The run-down that the configuration named when this state was stored; nil if it named none.
    let configured: RunDown?
    /// The number of the segment that was running or held; nil if there was no such segment.
    let segment: Int?
    let isHeld: Bool
    /// Whether another scene was on air instead of the run-down's scene.
    let isCutAway: Bool
    /// The number of failures of the channel during each segment, by the segment's number. The failures are kept until
    /// the segment has ended. While the segment is skipped because of its failures, they are also kept.
    var failures: [Int: Int]

    /// A segment is skipped after the channel has failed this many times during it.
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
    /// Files of the previous run-down, one of which can still be on air.
    var former: [RunDownClip] = []
    /// From this frame on, no file of the previous run-down is visible; nil until another scene is put on air or
    /// scheduled.
    var formerEnd: FrameIndex?
    /// The frame at which another scene replaces the files of the previous run-down; nil until such a scene is put on
    /// air or scheduled.
    var formerChange: FrameIndex?
    /// The first frame for which the player has not been called yet.
    var next: FrameIndex = 0
    /// The number of the channel's failures during each segment: see ``RunDownMemory/failures``.
    private(set) var failures: [Int: Int] = [:]

    /// Restores the failures from before the channel was reopened. Segments during which the channel has failed too
    /// often are skipped.
    mutating func restore(failures: [Int: Int]) {
        self.failures = failures
        for (segment, count) in failures where count >= RunDownMemory.mostFailures {
            player.bar(segment, because: "the channel failed \(count) times while it was on air")
        }
    }

    /// Forgets the failures during segments that have ended since. Also forgets the failures during a segment that an
    /// operator has started, so that it is tried again.
    mutating func forgetFailures() {
        if failures.isEmpty { return }
        let current = player.currentSegment
        failures = failures.filter { $0.key == current || player.barred[$0.key] != nil }
    }

    /// Reports the state of the open files to the player.
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
    /// Records that another scene goes on air at `frame`, by a transition of `frames` frames.
    mutating func noteChange(at frame: FrameIndex, frames: Int64) {
        guard !former.isEmpty else { return }
        guard let end = formerEnd else { return (formerEnd, formerChange) = (frame + frames + 1, frame) }
        // Another transition can interrupt the transition that replaces the former files. The new transition begins
        // with the visible frame, so the former files are still needed.
        if end > frame { formerEnd = max(end, frame + frames + 1) }
    }

    /// Removes and returns the files of the previous run-down that are no longer visible.
    mutating func takeFormer(by frame: FrameIndex) -> [RunDownClip] {
        guard let formerEnd, formerEnd <= frame else { return [] }
        defer { (former, self.formerEnd, formerChange) = ([], nil, nil) }
        return former
    }
}
