// SPDX-License-Identifier: Apache-2.0

package import Media

/// Computes the clips of a program from the commands that start and stop them. It uses no clock and no files.
///
/// Each command contains the number of its frame. Therefore the delay and the order of commands do not matter: the
/// command that stops a clip can arrive before the command that starts it, and both commands can arrive before their
/// frames. A clip depends only on its commands; the position of the program determines only how much of the clip exists
/// yet.
package struct ClipMachine: Sendable {
    /// A program that is being recorded.
    package struct Program: Sendable, Equatable {
        /// The recorder's run; frame numbers can be compared within one run.
        package var run: String
        /// The range from the first recorded frame to the frame after the newest.
        package var frames: Range<Int64>
        package var rate: FrameRate

        package init(run: String, frames: Range<Int64>, rate: FrameRate) {
            (self.run, self.frames, self.rate) = (run, frames, rate)
        }
    }

    /// A clip's frames.
    package struct Clip: Sendable, Equatable {
        package let id: String
        package let run: String
        /// The number of the clip's first frame.
        package let first: Int64
        /// The number of the frame after the clip's last frame; nil until the clip is stopped.
        package internal(set) var end: Int64?
        /// The number of requested frames before ``first`` that do not exist, because recording had not begun.
        package let lacking: Int64
        /// Whether all frames that the clip will ever contain are recorded.
        package internal(set) var isComplete: Bool

        /// A clip with stored values.
        package init(id: String, run: String, first: Int64, end: Int64?, lacking: Int64 = 0, isComplete: Bool = false) {
            (self.id, self.run, self.first, self.end) = (id, run, first, end)
            (self.lacking, self.isComplete) = (lacking, isComplete)
        }
    }

    /// The command that starts a clip.
    package struct Start: Sendable, Equatable {
        package var id: String
        /// The frame that was visible when the operator gave the command; nil for the newest frame.
        package var at: Int64?
        /// The number of frames before ``at`` that are also requested.
        package var before: Int64

        package init(id: String, at: Int64? = nil, before: Int64 = 0) {
            (self.id, self.at, self.before) = (id, at, before)
        }
    }

    /// Why a command was refused. A refused command changes nothing.
    package enum Refusal: Error, Equatable {
        /// Too many clips are running.
        case tooManyRunning
        /// Too many clips are kept.
        case tooManyClips
        /// The frame is so far ahead of the program that differences between clocks cannot explain it.
        case ahead
        /// Nothing was recorded at the frame of the command.
        case notRecorded
    }

    /// A command that stops a clip, and arrived before the command that starts it.
    private struct EarlyStop {
        let id: String
        let run: String
        let at: Int64
        /// The frame of the program at which the stop command is dropped, if the start command has not arrived by then.
        let until: Int64
    }

    /// The minimum length of a clip, in frames: one for a crossfade at each end, and one in between.
    package static let fewestFrames: Int64 = 3
    /// The maximum numbers of running clips and of all clips.
    package static let (mostRunning, mostClips) = (32, 2000)
    /// A clip stops by itself after this time if no command stops it.
    package static let longest = Duration.seconds(3600)
    /// How far ahead of the program the frame of a command is allowed to be.
    package static let lead = Duration.seconds(2)
    private static let mostEarly = 64
    private static let patience = Duration.seconds(10)

    /// All clips, in the order in which their start commands arrived.
    package private(set) var clips: [Clip] = []
    private var early: [EarlyStop] = []
    /// Clips that ended by themselves or with their recording, and whose stop commands can still arrive.
    private var unreleased: Set<String> = []

    /// A machine without clips.
    package init() {}

    /// Adds clips with stored values, which began before all others. None of them must have the id of a known clip.
    package mutating func add(_ stored: [Clip]) { clips.insert(contentsOf: stored, at: 0) }

    /// Returns the clip `id`.
    package func clip(_ id: String) -> Clip? { clips.first { $0.id == id } }

    /// Whether a stop command waits for its start command; for tests.
    package var isWaiting: Bool { !early.isEmpty }
}

// MARK: Commands

extension ClipMachine {
    /// Starts a clip, or returns the existing one with this id.
    package mutating func start(_ start: Start, in program: Program) throws(Refusal) -> Clip {
        if let known = clip(start.id) { return known }
        complete(program, recordedUpTo: nil)
        let at = start.at ?? program.frames.upperBound - 1
        guard at < program.frames.upperBound + program.rate.frames(atLeast: Self.lead) else { throw .ahead }
        guard at >= program.frames.lowerBound else { throw .notRecorded }
        let released = early.firstIndex { $0.id == start.id }
        let running = clips.count { $0.run == program.run && $0.end == nil }
        guard released != nil || running < Self.mostRunning else { throw .tooManyRunning }
        // The number of all clips is checked last. If only this check fails, the caller can remove another clip and try
        // again, and the clip is then accepted.
        guard clips.count < Self.mostClips else { throw .tooManyClips }
        let wanted = at - max(0, start.before)
        let first = max(wanted, program.frames.lowerBound)
        var clip = Clip(id: start.id, run: program.run, first: first, end: nil, lacking: first - wanted)
        if let released { clip.end = end(of: clip, at: early.remove(at: released).at, program.rate) }
        clips.append(clip)
        return clip
    }

    /// Ends the clip `id` before frame `at`, or before the newest frame if `at` is nil; a clip that has ended stays
    /// unchanged. Returns nil if the command that starts the clip has not arrived yet; when it arrives, the clip gets
    /// this end.
    package mutating func stop(_ id: String, at: Int64?, in program: Program) throws(Refusal) -> Clip? {
        let at = at ?? program.frames.upperBound - 1
        guard at < program.frames.upperBound + program.rate.frames(atLeast: Self.lead) else { throw .ahead }
        complete(program, recordedUpTo: nil)
        if let index = clips.firstIndex(where: { $0.id == id }) {
            if clips[index].end == nil { clips[index].end = end(of: clips[index], at: at, program.rate) }
            return release(id, at: at, program.rate)
        }
        if !early.contains(where: { $0.id == id }) {
            if early.count == Self.mostEarly { early.removeFirst() }
            let until = program.frames.upperBound + program.rate.frames(atLeast: Self.patience)
            early.append(EarlyStop(id: id, run: program.run, at: at, until: until))
        }
        return nil
    }

    /// Ends the clip `id` before frame `at`; this also works if the program is no longer recorded. If the clip has
    /// ended with its recording and `at` is earlier, `at` becomes its end. Returns nil if there is no such clip.
    package mutating func release(_ id: String, at: Int64, _ rate: FrameRate) -> Clip? {
        guard let index = clips.firstIndex(where: { $0.id == id }) else { return nil }
        let clip = clips[index]
        // A frame before the clip's start is ignored: it belongs to another program, which started again from frame 0.
        guard at >= clip.first else { return clip }
        let end = end(of: clip, at: at, rate)
        if let known = clip.end {
            if unreleased.remove(id) != nil { clips[index].end = min(known, end) }
        } else {
            clips[index].end = end
        }
        return clips[index]
    }

    /// Removes the clip `id` and returns it.
    package mutating func remove(_ id: String) -> Clip? {
        unreleased.remove(id)
        return clips.firstIndex { $0.id == id }.map { clips.remove(at: $0) }
    }

    private func end(of clip: Clip, at frame: Int64, _ rate: FrameRate) -> Int64 {
        min(max(frame, clip.first + Self.fewestFrames), clip.first + rate.frames(atLeast: Self.longest))
    }
}

// MARK: Completion

extension ClipMachine {
    /// Updates the clips for the program's position. The program's frames before `recorded` are on disk; if recording
    /// `isSuspended`, no later frames will be written. Returns the ids of the changed clips.
    @discardableResult
    package mutating func complete(
        _ program: Program, recordedUpTo recorded: Int64?, isSuspended: Bool = false
    ) -> [String] {
        // Only stop commands for this run are dropped. Another run can be recorded at the same time, and its stop
        // commands expire with that run.
        early.removeAll { $0.run == program.run && $0.until < program.frames.upperBound }
        let longest = program.rate.frames(atLeast: Self.longest)
        var changed: [String] = []
        for index in clips.indices where clips[index].run == program.run && !clips[index].isComplete {
            let before = clips[index]
            if before.end == nil, before.first + longest <= program.frames.upperBound {
                clips[index].end = before.first + longest
                unreleased.insert(before.id)
            }
            if let end = clips[index].end, let recorded, end <= recorded || isSuspended {
                clips[index].end = max(before.first, min(end, recorded))
                clips[index].isComplete = true
            }
            if clips[index] != before { changed.append(before.id) }
        }
        return changed
    }

    /// Completes all clips of `run`, of which nothing is recorded from frame `end` on. Returns the ids of the changed
    /// clips.
    package mutating func close(run: String, at end: Int64) -> [String] {
        early.removeAll { $0.run == run }
        var changed: [String] = []
        for index in clips.indices where clips[index].run == run && !clips[index].isComplete {
            if clips[index].end == nil { unreleased.insert(clips[index].id) }
            clips[index].end = max(clips[index].first, min(clips[index].end ?? end, end))
            clips[index].isComplete = true
            changed.append(clips[index].id)
        }
        return changed
    }

    /// The runs with clips that can still grow, or with stop commands whose start commands can still arrive.
    package var openRuns: Set<String> {
        Set(clips.lazy.filter { !$0.isComplete }.map(\.run)).union(early.lazy.map(\.run))
    }

    /// Whether a clip needs more frames of `run`. Such a clip has no end yet, or its start command has not arrived yet.
    /// If the run `isRecorded`, it can also be a clip whose end is not on disk yet.
    package func needs(_ run: String, isRecorded: Bool) -> Bool {
        early.contains { $0.run == run }
            || clips.contains { $0.run == run && !$0.isComplete && ($0.end == nil || isRecorded) }
    }
}
