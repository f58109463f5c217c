// SPDX-License-Identifier: Apache-2.0

package import Media

/// A clip of a recording, as a row of the catalogue. A clip is only a mark, and takes no space; until it is exported or
/// deleted, the files that contain it are kept.
package struct CatalogueClip: Sendable, Equatable {
    /// The number of frames that are kept on each side of a clip, for a crossfade.
    package static let handle: Int64 = 1

    /// The clip's frames.
    package var clip: ClipMachine.Clip
    /// The channel, as in file names.
    package var channel: String
    /// The program's frame rate: frame `n` is at `n` divided by this rate, from the program's start.
    package var rate: FrameRate
    /// When the first frame was on air: milliseconds since 1970-01-01T00:00:00Z.
    package var start: Int64
    /// The clip's name, if it has one.
    package var name: String?
    /// When the clip was exported and no longer needed its files: milliseconds since 1970; nil before.
    package var released: Int64?
    /// Start of the clip's first audio packet relative to its first frame, in nanoseconds; nil until it is known.
    package var audioOffset: Int64?

    /// A clip whose files are kept.
    package init(_ clip: ClipMachine.Clip, channel: String, rate: FrameRate, start: Int64, name: String?) {
        (self.clip, self.channel, self.rate, self.start, self.name) = (clip, channel, rate, start, name)
    }

    package var id: String { clip.id }

    /// Returns the program time of frame `frame`.
    package func time(of frame: Int64) -> ProgramInstant { rate.start(of: FrameIndex(frame)) }

    /// The clip's program times; nil until the clip ends.
    package var times: Range<ProgramInstant>? { clip.end.map { time(of: clip.first)..<time(of: max(clip.first, $0)) } }

    /// The program times that must not be deleted, with a frame on each side. For a clip without an end, the range is
    /// limited to the maximum length, so that the clip does not keep all later files.
    var held: Range<ProgramInstant> {
        let lower = time(of: clip.first - Self.handle)
        let end = clip.end ?? clip.first + rate.frames(atLeast: ClipMachine.longest)
        return lower..<max(lower, time(of: end + Self.handle))
    }

    /// Whether the clip prevents the deletion of the file of `row`, because the file may contain a part of the clip.
    package func keeps(_ row: CatalogueSegment) -> Bool {
        guard released == nil, row.run == clip.run, let start = row.programStart else { return false }
        return held.overlaps(start..<max(start + .nanoseconds(1), row.programEnd ?? start))
    }
}
