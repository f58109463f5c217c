// SPDX-License-Identifier: Apache-2.0

package import Media

/// A clip of what is recorded, as a row of the catalogue: a mark that costs nothing, and holds the files that it lies in
/// until it was exported or deleted.
package struct CatalogueClip: Sendable, Equatable {
    /// Frames that are held on each side, for a crossfade.
    package static let handle: Int64 = 1

    /// Its frames.
    package var clip: ClipMachine.Clip
    /// The channel, as files' names have it.
    package var channel: String
    /// Frames a second of the program: frame `n` is `n` divided by it from the program's start.
    package var rate: FrameRate
    /// When the first frame was on air: milliseconds since 1970-01-01T00:00:00Z.
    package var start: Int64
    /// What it is called, if anybody said.
    package var name: String?
    /// When it was exported, and needed its files no more: milliseconds since 1970; nil before.
    package var released: Int64?
    /// Where the first packet of its audio begins, from its first frame on, in nanoseconds; nil until it is known.
    package var audioOffset: Int64?

    /// A clip that holds its files.
    package init(_ clip: ClipMachine.Clip, channel: String, rate: FrameRate, start: Int64, name: String?) {
        (self.clip, self.channel, self.rate, self.start, self.name) = (clip, channel, rate, start, name)
    }

    package var id: String { clip.id }

    /// Program time of the frame `frame`, in nanoseconds.
    package func time(of frame: Int64) -> Int64 { rate.timeBase.rescale(frame, to: .nanoseconds) }

    /// Program times in nanoseconds; nil until the release.
    package var times: Range<Int64>? { clip.end.map { time(of: clip.first)..<time(of: max(clip.first, $0)) } }

    /// Program times that must not be deleted, with a frame on each side. A clip without an end holds as much as it may
    /// have at most, so that it does not hold all that comes.
    var held: Range<Int64> {
        let lower = time(of: clip.first - Self.handle)
        let end = clip.end ?? clip.first + rate.frames(atLeast: ClipMachine.longest)
        return lower..<max(lower, time(of: end + Self.handle))
    }
}
