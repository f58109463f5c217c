// SPDX-License-Identifier: Apache-2.0

internal import Media
package import Studio

/// A press.
package struct ClipStart: Sendable {
    /// What who presses calls the clip; nil for a name of relay's.
    package var id: String?
    /// What people call it.
    package var name: String?
    /// Program time, in seconds, of the frame that was seen at the press; nil for the newest.
    package var at: Double?
    /// The newest frame's when the press came.
    package var newest: Double?
    /// Seconds before it that are wanted, too.
    package var before: Double

    /// A press.
    package init(id: String? = nil, name: String? = nil, at: Double? = nil, before: Double = 0) {
        (self.id, self.name, self.at, self.before) = (id, name, at, before)
    }
}

/// A clip.
package struct RecordedClip: Sendable, Encodable {
    /// The clip's progress.
    package enum State: String, Sendable, Codable, CaseIterable {
        /// It has not been ended.
        case running
        /// It was ended, and its last frames are not on the disk yet.
        case ending
        /// All of it is recorded.
        case done
        /// Nothing of it is recorded: the recording ended before.
        case empty
        /// It was exported, and its files were deleted since.
        case gone
    }

    package var id: String
    package var name: String?
    package var state: State
    /// When the first frame was on air.
    package var start: String
    /// When it was asked for; nil if that was before relay was started.
    package var pressed: String?
    /// The same in seconds of the program.
    package var programSeconds: Double
    /// How long it is, or how long it has been running.
    package var durationSeconds: Double
    /// The number of frames; of a clip that is running, the number so far.
    package var frames: Int64
    /// Seconds before its first frame that were wanted, and not recorded.
    package var lackingSeconds: Double?
    /// Where its first packet of audio begins, from its first frame on; nil as long as it is not known.
    package var audioOffsetSeconds: Double?
    /// Whether its files are kept for it: it was not exported yet.
    package var isHeld: Bool
    /// The job that made it, or makes it; nil if no job of this run of the process did.
    package var export: String?

    /// A clip of these properties; the rest is filled in.
    package init(
        id: String, name: String?, state: State, start: String, programSeconds: Double, durationSeconds: Double,
        frames: Int64
    ) {
        (self.id, self.name, self.state, self.start) = (id, name, state, start)
        (self.programSeconds, self.durationSeconds, self.frames) = (programSeconds, durationSeconds, frames)
        isHeld = true
    }
}

/// A clip as a part of a file of several.
package struct ClipPart: Sendable {
    package var id: String
    /// Frames that are left out at its start and at its end.
    package var skipped: (start: Int64, end: Int64)
    /// How it comes on; a cut for nil. The first has none.
    package var transition: TransitionRequest?
    /// By how much its audio is to be later; earlier for less than nothing.
    package var audioOffset: Duration
    /// Whether its files are held as before when it was made.
    package var isHeldOn: Bool

    /// A part of these properties.
    package init(
        id: String, skipped: (start: Int64, end: Int64) = (0, 0), transition: TransitionRequest? = nil,
        audioOffset: Duration = .zero, isHeldOn: Bool = false
    ) {
        (self.id, self.skipped, self.transition) = (id, skipped, transition)
        (self.audioOffset, self.isHeldOn) = (audioOffset, isHeldOn)
    }
}

/// A clip that is put behind others in one file.
package struct StitchedClip: Sendable {
    /// Its frames.
    package var clip: ClipExport
    /// What its chapter is called.
    package var title: String?
    package var transition: TransitionRequest?
    package var audioOffset = Duration.zero

    /// The clip `clip`, as it is.
    package init(_ clip: ClipExport) { self.clip = clip }

    /// The clip `clip`, as `part` has it.
    package init(_ clip: ClipExport, title: String?, _ part: ClipPart) {
        (self.clip, self.title) = (clip, title)
        (transition, audioOffset) = (part.transition, part.audioOffset)
    }
}

/// What an export needs to know of a clip.
package struct ClipExport: Sendable {
    /// The recorder's run, whose program times these are, in nanoseconds.
    package var run: String
    package var times: Range<Int64>
    /// How long a frame lasts.
    package var frameDuration: Int64
    /// Whether all of it is on the disk, or will never be. Blocks on the disk.
    package var isRecorded: @Sendable () -> Bool
    /// Is told that it was made, and by how many nanoseconds its first packet of audio begins later than its first frame.
    package var finished: @Sendable (_ audioOffset: Int64?) -> Void

    /// A clip of these frames.
    package init(
        run: String, times: Range<Int64>, frameDuration: Int64, isRecorded: @escaping @Sendable () -> Bool,
        finished: @escaping @Sendable (_ audioOffset: Int64?) -> Void
    ) {
        (self.run, self.times, self.frameDuration) = (run, times, frameDuration)
        (self.isRecorded, self.finished) = (isRecorded, finished)
    }
}
