// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Program

/// What is remembered of a run-down while its channel is closed.
struct RunDownMemory {
    let runDown: RunDown
    /// The one that the configuration named.
    let configured: RunDown?
    /// The segment that was under way, or held; nil where none was.
    let segment: Int?
    let isHeld: Bool
    /// Whether something else was on air.
    let isCutAway: Bool
    /// How often the channel failed while a segment was on air that has not ended since, by the segment's number; and of
    /// those that are left out for it.
    var failures: [Int: Int]

    /// After so many failures of the channel during one segment, the segment is left out.
    static let mostFailures = 2

    /// The channel failed.
    mutating func noteFailure() {
        guard let segment, !isCutAway else { return }
        failures[segment, default: 0] += 1
    }
}

/// A run-down that is loaded: its player, and the files that are open for it.
struct RunDownState {
    var player: RunDownPlayer
    var clips: [RunDownPlayer.ClipID: RunDownClip] = [:]
    /// How long its files are; nil where the run-down's end is not waited for.
    var lengths: RunDownLengths?
    /// Files of the run-down before, one of which may be on air.
    var former: [RunDownClip] = []
    /// The frame from which none of the former files is seen; nil as long as nothing else came on air.
    var formerEnd: FrameIndex?
    /// The frame at which something else comes on air in their place.
    var formerChange: FrameIndex?
    /// The first frame that the player was not asked for.
    var next: FrameIndex = 0
    /// As ``RunDownMemory/failures``.
    private(set) var failures: [Int: Int] = [:]

    /// Takes over what the channel did before it was opened again: leaves out segments that made it fail too often.
    mutating func restore(failures: [Int: Int]) {
        self.failures = failures
        for (segment, count) in failures where count >= RunDownMemory.mostFailures {
            player.bar(segment, because: "the channel failed \(count) times while it was on air")
        }
    }

    /// A segment that has ended did no harm, and one that an operator started is given another chance.
    mutating func forgetFailures() {
        if failures.isEmpty { return }
        let current = player.currentSegment
        failures = failures.filter { $0.key == current || player.barred[$0.key] != nil }
    }

    /// Tells the player what became of its files.
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
    /// Something came on air at `frame`, by a transition of so many frames.
    mutating func noteChange(at frame: FrameIndex, frames: Int64) {
        guard !former.isEmpty else { return }
        guard let end = formerEnd else { return (formerEnd, formerChange) = (frame + frames + 1, frame) }
        // A transition that interrupts the one from the former files begins with what is on the screen.
        if end > frame { formerEnd = max(end, frame + frames + 1) }
    }

    /// Removes and returns the files of the previous run-down that are not seen any more.
    mutating func takeFormer(by frame: FrameIndex) -> [RunDownClip] {
        guard let formerEnd, formerEnd <= frame else { return [] }
        defer { (former, self.formerEnd, formerChange) = ([], nil, nil) }
        return former
    }
}
