// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Stitcher
package import Studio

/// A request to begin a clip, which a client sends when its user presses a button.
package struct ClipStart: Sendable {
    /// The client's identifier for the clip; nil means that relay chooses one.
    package var id: String?
    /// The clip's name.
    package var name: String?
    /// The program time, in seconds, of the frame that was visible when the button was pressed; nil means the newest
    /// frame.
    package var at: Double?
    /// The program time of the newest frame when the request arrived, in seconds; nil if it is not known.
    package var newest: Double?
    /// How many seconds before the frame at ``at``, or before the newest frame, the clip is to begin.
    package var before: Double

    package init(id: String? = nil, name: String? = nil, at: Double? = nil, before: Double = 0) {
        (self.id, self.name, self.at, self.before) = (id, name, at, before)
    }
}

/// A clip, as the API reports it.
package struct RecordedClip: Sendable, Encodable {
    /// The clip's progress.
    package enum State: String, Sendable, Codable, CaseIterable {
        /// The clip has not been ended.
        case running
        /// The clip was ended, and its last frames are not on the disk yet.
        case ending
        /// The complete clip is recorded.
        case done
        /// Nothing of the clip is recorded: the recording ended, or could not write any more, before the clip began.
        case empty
        /// The clip was exported, and its files have been deleted since then.
        case gone
    }

    package var id: String
    package var name: String?
    package var state: State
    /// The wall-clock time at which the first frame was on air.
    package var start: String
    /// When the operator requested the clip; nil if that was before this process started.
    package var pressed: String?
    /// The program time of the first frame, in seconds.
    package var programSeconds: Double
    /// The clip's length in seconds; for a clip that is running, its length so far.
    package var durationSeconds: Double
    /// The number of frames; for a clip that is running, the number so far.
    package var frames: Int64
    /// How many seconds earlier the clip was requested to begin, if that time was not recorded; otherwise nil.
    package var lackingSeconds: Double?
    /// The beginning of the first audio packet relative to the first frame, in seconds; nil without audio, and as long
    /// as it is not known.
    package var audioOffsetSeconds: Double?
    /// Whether the clip's files are protected from deletion, because the clip has not been exported yet.
    package var isHeld: Bool
    /// The newest export job for the clip; nil if this process has not started one.
    package var export: String?

    /// Creates a clip; the other properties are set later.
    package init(
        id: String, name: String?, state: State, start: String, programSeconds: Double, durationSeconds: Double,
        frames: Int64
    ) {
        (self.id, self.name, self.state, self.start) = (id, name, state, start)
        (self.programSeconds, self.durationSeconds, self.frames) = (programSeconds, durationSeconds, frames)
        isHeld = true
    }
}

/// A clip that is requested as one part of a file of several clips.
package struct ClipPart: Sendable {
    package var id: String
    /// The number of frames that are left out at the clip's start and at its end.
    package var skipped: (start: Int64, end: Int64)
    /// The transition from the previous clip to this clip; nil means a cut. The first clip has no transition.
    package var transition: TransitionRequest?
    /// How much later than the video the clip's audio is to be; negative means earlier.
    package var audioOffset: Duration
    /// Whether the clip's files remain protected when the export is done.
    package var isHeldOn: Bool

    package init(
        id: String, skipped: (start: Int64, end: Int64) = (0, 0), transition: TransitionRequest? = nil,
        audioOffset: Duration = .zero, isHeldOn: Bool = false
    ) {
        (self.id, self.skipped, self.transition) = (id, skipped, transition)
        (self.audioOffset, self.isHeldOn) = (audioOffset, isHeldOn)
    }
}

/// One of several clips that are joined in one file.
package struct StitchedClip: Sendable {
    /// The clip that is joined to the others.
    package var clip: ClipExport
    /// The title of the clip's chapter.
    package var title: String?
    package var transition: TransitionRequest?
    package var audioOffset = Duration.zero

    /// Creates a stitched clip from `clip`, without a title, a transition and an audio offset.
    package init(_ clip: ClipExport) { self.clip = clip }

    /// Creates a stitched clip from `clip`, with the settings of `part`.
    package init(_ clip: ClipExport, title: String?, _ part: ClipPart) {
        (self.clip, self.title) = (clip, title)
        (transition, audioOffset) = (part.transition, part.audioOffset)
    }
}

/// The properties of a clip that an export needs.
package struct ClipExport: Sendable {
    /// Identifies the run of the recorder. `times` is the clip's range of program times in that run.
    package var run: String
    package var times: Range<ProgramInstant>
    /// The length of a frame.
    package var frameDuration: Duration
    /// Returns whether everything of the clip that will be recorded is on the disk. Blocks on the disk.
    package var isRecorded: @Sendable () -> Bool
    /// Called when the file of the clip is complete. `audioOffset` says by how many nanoseconds the first audio packet
    /// begins later than the first frame; nil without audio, or if several clips were joined.
    package var finished: @Sendable (_ audioOffset: Int64?) -> Void

    package init(
        run: String, times: Range<ProgramInstant>, frameDuration: Duration, isRecorded: @escaping @Sendable () -> Bool,
        finished: @escaping @Sendable (_ audioOffset: Int64?) -> Void
    ) {
        (self.run, self.times, self.frameDuration) = (run, times, frameDuration)
        (self.isRecorded, self.finished) = (isRecorded, finished)
    }
}

extension ClipExport {
    /// Returns the `files` of the run that overlap the clip, and the clip's range in milliseconds since 1970, computed
    /// from the dates of the files. The range begins and ends in the middle of a frame, because milliseconds are too
    /// coarse for the beginning of a frame.
    func selection(
        _ files: [RunFile], in directory: String
    ) throws(ClipFailure) -> (files: [(path: String, name: String)], range: Range<Int64>) {
        let half = frameDuration / 2
        let middle = times.lowerBound + half..<max(times.lowerBound + half + .nanoseconds(1), times.upperBound - half)
        let found = files.filter { $0.program.overlaps(times) }
        guard let first = found.first, let last = found.last else {
            throw ClipFailure("Nothing of the clip is recorded any more.")
        }
        func milliseconds(_ time: ProgramInstant, _ file: RunFile) -> Int64 {
            file.start + (time - file.program.lowerBound).inMilliseconds
        }
        let start = milliseconds(middle.lowerBound, first)
        return (
            found.map { ("\(directory)/\($0.name)", $0.name) },
            start..<max(start + 1, milliseconds(middle.upperBound, last))
        )
    }

    /// Corrects `report`. The requested range is half a frame shorter than the clip at both ends, so `report` can say
    /// that the export was widened by up to a frame. Such a widening is set to 0.
    func tell(_ report: inout ClipReport) {
        let frame = frameDuration.inMilliseconds + 1
        if report.widenedStart <= frame { report.widenedStart = 0 }
        if report.widenedEnd <= frame { report.widenedEnd = 0 }
    }
}
