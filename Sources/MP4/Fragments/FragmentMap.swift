// SPDX-License-Identifier: Apache-2.0

package import Media

/// The positions and times of all fragments in a file. The fragments follow the head of the file without a gap. A
/// closed file also has them, inside its single `mdat`.
///
/// While a file grows, its map is extended from the map's present end. The map ends before the first bytes that are not
/// a fragment.
package struct FragmentMap: Sendable {
    /// A fragment: one `moof` with its `mdat`.
    package struct Fragment: Sendable, Equatable {
        /// The byte range of the fragment in the file.
        package var bytes: Range<Int64>
        /// The presentation time of the fragment's first frame, since the file's first frame. If the fragment has no
        /// frames, it is the time of its first audio.
        package var start: Timestamp
        /// The total duration in nanoseconds of the samples of the track that determines ``start``.
        package var duration: Int64
        /// The number of frames in the fragment.
        package var frames: Int
        /// Whether decoding can start at the fragment's first frame or, in a file without video, at its first audio
        /// packet.
        package var beginsWithKeyframe: Bool
        /// The position and time of the fragment's first keyframe; nil if it has no keyframe, or if the position is not
        /// inside the fragment. The time is on the same scale as ``start``.
        package var keyframe: Keyframe?

        package init(
            bytes: Range<Int64>, start: Timestamp, duration: Int64, frames: Int, beginsWithKeyframe: Bool,
            keyframe: Keyframe?
        ) {
            (self.bytes, self.start, self.duration, self.frames) = (bytes, start, duration, frames)
            (self.beginsWithKeyframe, self.keyframe) = (beginsWithKeyframe, keyframe)
        }
    }

    /// The byte range of a keyframe in the file, and its presentation time.
    package struct Keyframe: Sendable, Equatable {
        package var bytes: Range<Int64>
        package var time: Timestamp

        package init(bytes: Range<Int64>, time: Timestamp) { (self.bytes, self.time) = (bytes, time) }
    }

    /// The contents of the `moov` except for the samples.
    package let layout: MovieLayout
    /// All bytes of the file's first `moov`, which contains an `mvex`.
    package let movie: [UInt8]
    /// All complete fragments, in the order of the file.
    package private(set) var fragments: [Fragment] = []
    /// The offset in the file, in bytes, at which the last fragment ends.
    package private(set) var end: Int64

    private static let headSize = Int64(MovieBox.headSize)
    private static let movieLimit: Int64 = 1 << 20
    private static let fragmentLimit: Int64 = 16 << 20
    /// The longest time that is accepted: a year.
    private static let longest = Duration.seconds(TrackFacts.longestTime)

    /// Reads the map of the file `source`. Throws ``MP4Failure`` if relay did not write the head of the file or the
    /// head is incomplete, and rethrows the errors of `source`.
    package init(_ source: some ByteSource) throws {
        guard MovieBox.isHead(try source.read(at: 0, count: MovieBox.headSize)) else {
            throw MP4Failure(description: "it does not begin as this program's files do")
        }
        let size = try source.size()
        guard let length = try Self.length(of: "moov", at: Self.headSize, in: source, size: size),
            length <= Self.movieLimit
        else { throw MP4Failure(description: "its head is incomplete") }
        movie = try source.read(at: Self.headSize, count: Int(length))
        layout = try MovieReader.layout(BoxReader(movie.dropFirst(8)))
        end = Self.headSize + length
        try extend(source)
    }

    /// Adds the fragments that were written to `source` since the map was last read.
    package mutating func extend(_ source: some ByteSource) throws {
        let size = try source.size()
        while let fragment = try fragment(at: end, in: source, size: size) {
            fragments.append(fragment)
            end = fragment.bytes.upperBound
        }
    }

    /// The initialization segment, which a player needs before any fragment: the head of an open file (`ftyp` and
    /// `free`), and ``movie``.
    package var initialisation: [UInt8] { MovieBox.openHead + movie }

    /// The number of frames in all fragments.
    package var frames: Int { fragments.reduce(0) { $0 + $1.frames } }

    /// The duration of the file so far, in nanoseconds.
    package var duration: Int64 { fragments.lazy.map { $0.start.nanoseconds + $0.duration }.max() ?? 0 }

    private static func length(
        of type: String, at offset: Int64, in source: some ByteSource, size: Int64
    ) throws -> Int64? {
        let bytes = try source.read(at: offset, count: 8)
        guard bytes.count == 8 else { return nil }
        var header = BoxReader(bytes[...])
        let (length, found) = (Int64(try header.u32()), try header.code())
        guard found == type, length >= 8, length <= size - offset else { return nil }
        return length
    }

    /// Reads the fragment at `offset`; nil if the fragment is incomplete or damaged.
    private func fragment(at offset: Int64, in source: some ByteSource, size: Int64) throws -> Fragment? {
        guard let head = try Self.length(of: "moof", at: offset, in: source, size: size), head <= Self.fragmentLimit,
            let media = try Self.length(of: "mdat", at: offset + head, in: source, size: size)
        else { return nil }
        let bytes = try source.read(at: offset, count: Int(head))
        guard bytes.count == Int(head), var fragment = try? lead(bytes, at: offset) else { return nil }
        fragment.bytes = offset..<offset + head + media
        // A keyframe whose bytes are not all in this fragment is ignored: a damaged table may contain any offset, and
        // no other bytes must be read for it.
        let named = fragment.keyframe?.bytes ?? fragment.bytes
        if named.lowerBound < offset || named.upperBound > fragment.bytes.upperBound { fragment.keyframe = nil }
        return fragment
    }

    /// Reads the `traf` of the video track, which determines the times of the file. If `moof` has no `traf` of the
    /// video track, reads the first one of another track.
    private func lead(_ moof: [UInt8], at offset: Int64) throws(MP4Failure) -> Fragment? {
        var found: Fragment?
        let hasVideo = layout.tracks.contains { $0.kind == .video }
        for box in try BoxReader(moof.dropFirst(8)).boxes() where box.type == "traf" {
            let (id, run) = try FragmentReader.run(box.body, tracks: layout.tracks)
            guard let track = layout.tracks.first(where: { $0.id == id }), let first = run.samples.first,
                found == nil || track.kind == .video
            else { continue }
            let base = TimeBase(1, Int32(clamping: track.timescale))
            let length = run.samples.reduce(Int64(0)) { $0 + Int64($1.duration) }
            let start = first.decodeTime + Int64(first.compositionOffset) - track.mediaTime
            found = Fragment(
                bytes: 0..<0, start: max(.zero, Timestamp(start, in: base)),
                duration: base.rescale(length, to: .nanoseconds), frames: track.kind == .video ? run.samples.count : 0,
                beginsWithKeyframe: first.isSync && (track.kind == .video || !hasVideo),
                keyframe: track.kind == .video ? Self.keyframe(of: run, track, at: offset) : nil)
        }
        // Times of more than a year are refused: no real file is that long, and the sum of several accepted times
        // cannot overflow.
        let latest = Timestamp.zero + Self.longest
        guard let found, found.start <= latest, found.duration <= Self.longest.inNanoseconds,
            (found.keyframe?.time ?? .zero) <= latest
        else { return nil }
        return found
    }

    private static func keyframe(
        of run: FragmentReader.Run, _ track: MovieLayout.Track, at offset: Int64
    ) -> Keyframe? {
        var place = offset + run.offset
        for sample in run.samples {
            if sample.isSync, sample.size > 0 {
                let time = sample.decodeTime + Int64(sample.compositionOffset) - track.mediaTime
                let base = TimeBase(1, Int32(clamping: track.timescale))
                return Keyframe(
                    bytes: place..<place + Int64(sample.size), time: max(.zero, Timestamp(time, in: base)))
            }
            place += Int64(sample.size)
        }
        return nil
    }
}
