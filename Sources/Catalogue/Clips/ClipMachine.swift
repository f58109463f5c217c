// SPDX-License-Identifier: Apache-2.0

package import Media

/// Which frames of a program are clips, by the commands that begin and end them. Pure: it knows neither clocks nor files.
///
/// A command names the frame that it is meant for, so that neither the way that it took nor its place among others
/// matters: a release may come before its press, and both before the frame that they name. What a clip is follows from
/// its commands alone; how far the program is says only how much of it there is yet.
package struct ClipMachine: Sendable {
    /// A program that is being recorded.
    package struct Program: Sendable, Equatable {
        /// Names the recorder's run: frames of one run can be compared.
        package var run: String
        /// From the first frame that was recorded to the one behind the newest.
        package var frames: Range<Int64>
        package var rate: FrameRate

        /// A program.
        package init(run: String, frames: Range<Int64>, rate: FrameRate) {
            (self.run, self.frames, self.rate) = (run, frames, rate)
        }
    }

    /// A clip's frames.
    package struct Clip: Sendable, Equatable {
        package let id: String
        package let run: String
        /// The first frame.
        package let first: Int64
        /// The frame behind the last one; nil until the release.
        package internal(set) var end: Int64?
        /// Frames before ``first`` that were asked for, and are not there: nothing was recorded yet.
        package let lacking: Int64
        /// Whether all of it that there will ever be is recorded.
        package internal(set) var isComplete: Bool

        /// A clip as it was written down.
        package init(id: String, run: String, first: Int64, end: Int64?, lacking: Int64 = 0, isComplete: Bool = false) {
            (self.id, self.run, self.first, self.end) = (id, run, first, end)
            (self.lacking, self.isComplete) = (lacking, isComplete)
        }
    }

    /// A press.
    package struct Start: Sendable, Equatable {
        package var id: String
        /// The frame that was seen at the press; the newest for nil.
        package var at: Int64?
        /// Frames before it that are wanted, too.
        package var before: Int64

        /// A press.
        package init(id: String, at: Int64? = nil, before: Int64 = 0) {
            (self.id, self.at, self.before) = (id, at, before)
        }
    }

    /// Why a command was not taken. Nothing is changed then.
    package enum Refusal: Error, Equatable {
        /// So many clips are running.
        case tooManyRunning
        /// So many clips are kept.
        case tooManyClips
        /// The frame is further ahead of the program than clocks can be apart.
        case ahead
        /// Nothing was recorded at the frame.
        case notRecorded
    }

    /// A release whose press has not come yet.
    private struct EarlyStop {
        let id: String
        let run: String
        let at: Int64
        /// When it is forgotten.
        let until: Int64
    }

    /// A crossfade of two clips needs a frame of each, and one between.
    package static let fewestFrames: Int64 = 3
    /// Clips that may run at a time, and that are kept.
    package static let (mostRunning, mostClips) = (32, 2000)
    /// A clip ends by itself after this time if no command ends it.
    package static let longest = Duration.seconds(3600)
    /// By how much a command may be ahead of the program.
    package static let lead = Duration.seconds(2)
    private static let mostEarly = 64
    private static let patience = Duration.seconds(10)

    /// All clips, in the order in which they came.
    package private(set) var clips: [Clip] = []
    private var early: [EarlyStop] = []
    /// Clips that ended by themselves or with their recording, whose releases may still come.
    private var unreleased: Set<String> = []

    /// A machine without clips.
    package init() {}

    /// A machine that continues with `clips`.
    package init(_ clips: [Clip]) { self.clips = clips }

    /// The clip `id`.
    package func clip(_ id: String) -> Clip? { clips.first { $0.id == id } }

    /// Whether releases wait for their presses; for tests.
    package var isWaiting: Bool { !early.isEmpty }
}

// MARK: Commands

extension ClipMachine {
    /// Begins a clip, or returns the one that has this name already.
    package mutating func start(_ start: Start, in program: Program) throws(Refusal) -> Clip {
        if let known = clip(start.id) { return known }
        complete(program, recordedUpTo: nil)
        let at = start.at ?? program.frames.upperBound - 1
        guard at < program.frames.upperBound + program.rate.frames(atLeast: Self.lead) else { throw .ahead }
        guard at >= program.frames.lowerBound else { throw .notRecorded }
        let released = early.firstIndex { $0.id == start.id }
        let running = clips.count { $0.run == program.run && $0.end == nil }
        guard released != nil || running < Self.mostRunning else { throw .tooManyRunning }
        // Last: others may be forgotten for this one, which nothing else refuses.
        guard clips.count < Self.mostClips else { throw .tooManyClips }
        let wanted = at - max(0, start.before)
        let first = max(wanted, program.frames.lowerBound)
        var clip = Clip(id: start.id, run: program.run, first: first, end: nil, lacking: first - wanted)
        if let released { clip.end = end(of: clip, at: early.remove(at: released).at, program.rate) }
        clips.append(clip)
        return clip
    }

    /// Ends the clip `id` with the frame before `at`, or before the newest one's end for nil; one that was ended stays as it
    /// is. Nil if its start did not come yet: it is a whole clip when it does.
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

    /// Ends the clip `id` with the frame before `at`. The program may be recorded no more: a clip that ended with its
    /// recording was released before that if `at` says so. Returns nil if there is no such clip.
    package mutating func release(_ id: String, at: Int64, _ rate: FrameRate) -> Clip? {
        guard let index = clips.firstIndex(where: { $0.id == id }) else { return nil }
        let clip = clips[index]
        // A time before the press belongs to another program, which started again from the beginning.
        guard at >= clip.first else { return clip }
        let end = end(of: clip, at: at, rate)
        if let known = clip.end {
            if unreleased.remove(id) != nil { clips[index].end = min(known, end) }
        } else {
            clips[index].end = end
        }
        return clips[index]
    }

    /// Forgets the clip `id`, and returns it.
    package mutating func remove(_ id: String) -> Clip? {
        unreleased.remove(id)
        return clips.firstIndex { $0.id == id }.map { clips.remove(at: $0) }
    }

    private func end(of clip: Clip, at frame: Int64, _ rate: FrameRate) -> Int64 {
        min(max(frame, clip.first + Self.fewestFrames), clip.first + rate.frames(atLeast: Self.longest))
    }
}

// MARK: What became of them

extension ClipMachine {
    /// The program has come to where it is now, and its frames before `recorded` are on the disk; if that `isSuspended`, none
    /// behind them. Returns the clips that were changed by it.
    @discardableResult
    package mutating func complete(
        _ program: Program, recordedUpTo recorded: Int64?, isSuspended: Bool = false
    ) -> [String] {
        // Those of another run, which may be recorded at the same time, go with that.
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

    /// The run is over, and nothing of it is recorded from the frame `end` on. Returns the clips that were changed by it.
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

    /// The runs with clips of which more may come, or with releases whose presses may still come.
    package var openRuns: Set<String> {
        Set(clips.lazy.filter { !$0.isComplete }.map(\.run)).union(early.lazy.map(\.run))
    }

    /// Whether a clip needs more of `run`: a clip that has no end yet, one whose press has yet to come, or, if the run
    /// `isRecorded`, one whose end is not on the disk.
    package func needs(_ run: String, isRecorded: Bool) -> Bool {
        early.contains { $0.run == run }
            || clips.contains { $0.run == run && !$0.isComplete && ($0.end == nil || isRecorded) }
    }
}
