// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Splits a clip into fragments. Each GOP becomes one fragment, or several if it is long. Each fragment also has the
/// audio of the same time.
package struct FragmentedClip {
    /// One fragment of the clip.
    package struct Piece {
        /// The box `moof` and the header of its `mdat`.
        package let header: [UInt8]
        /// The byte ranges of the fragment's samples in the clip, in the order in which the samples follow the header.
        package let payload: [Range<Int64>]
    }

    private struct Track {
        let layout: MovieLayout.Track
        let samples: [IndexedSample]
        let start: Int64
        var next = 0

        var base: TimeBase { TimeBase(1, Int32(clamping: layout.timescale)) }

        mutating func run(to end: Int) -> (run: Fragment.Run, payload: [Range<Int64>])? {
            guard next < end else { return nil }
            let taken = next..<end
            next = end
            return (Fragment.Run(track: layout, samples: entries(taken)), payload(samples[taken]))
        }

        /// The table entries of the samples `taken`. The last sample lasts until the next fragment begins. If two files
        /// are joined at the beginning of that fragment, that may be longer than the sample's own duration.
        private func entries(_ taken: Range<Int>) -> [SampleEntry] {
            var entries = samples[taken].map { SampleEntry($0, from: samples[0].dts) }
            if taken.upperBound < samples.count {
                let border = samples[taken.upperBound].dts - samples[taken.upperBound - 1].dts
                entries[entries.count - 1].duration = UInt32(clamping: border)
            }
            return entries
        }

        private func payload(_ taken: ArraySlice<IndexedSample>) -> [Range<Int64>] {
            var payload: [Range<Int64>] = []
            for sample in taken {
                let bytes = sample.offset..<sample.offset + sample.size
                if let last = payload.last, last.upperBound == bytes.lowerBound {
                    payload[payload.count - 1] = last.lowerBound..<bytes.upperBound
                } else {
                    payload.append(bytes)
                }
            }
            return payload
        }
    }

    /// The limit for the bytes of a fragment's frames, not counting the last frame. It is needed because the size field
    /// of an `mdat` has only 32 bits.
    private static let most: Int64 = 256 << 20
    /// The time after which a fragment ends even without a keyframe. Files with open GOPs or intra refresh have few
    /// keyframes. A player that plays a file while it is being received must wait for each fragment to be complete.
    private static let longest = Duration.seconds(10)

    /// The bytes before the first fragment, which a player needs first.
    package let head: [UInt8]
    private var video: Track?
    private var audio: Track?
    private var sequence: UInt32 = 0
    private var index = FragmentIndex(track: MovieLayout.videoID)

    /// Creates the fragments of the clip `movie`, which has the tracks `video` and `audio`.
    package init(_ movie: ClipMovie, video: ClipTrack, audio: ClipTrack?) {
        head = MovieBox.openHead + MovieBox.open(movie)
        for layout in movie.layout.tracks {
            if layout.kind == .video {
                self.video = Track(layout: layout, samples: video.samples, start: video.start)
            } else if let audio {
                self.audio = Track(layout: layout, samples: audio.samples, start: audio.start)
            }
        }
    }

    /// Returns the next fragment, or nil after the last one. `offset` is where the fragment will be written in the
    /// file.
    package mutating func next(at offset: Int64) -> Piece? {
        guard var video, video.next < video.samples.count else { return nil }
        let end = Self.end(of: video)
        var taken = [video.run(to: end)]
        if var audio {
            var heard = audio.samples.count
            if end < video.samples.count {
                let time = video.base.rescale(video.samples[end].dts - video.start, to: audio.base) + audio.start
                heard = audio.samples[audio.next...].firstIndex { $0.dts >= time } ?? heard
            }
            taken.append(audio.run(to: heard))
            self.audio = audio
        }
        self.video = video
        sequence &+= 1
        let runs = taken.compactMap { $0 }
        if let first = runs.first { index.append(first.run, at: offset) }
        let header = Fragment(sequence: sequence, runs: runs.map(\.run)).encode().header
        return Piece(header: header, payload: runs.flatMap(\.payload))
    }

    /// The index of the keyframes, which is the last box of the file.
    package var tail: [UInt8] { index.encode() }

    private static func end(of video: Track) -> Int {
        let latest = video.samples[video.next].dts + video.base.ticks(longest)
        var bytes: Int64 = 0
        for index in video.next..<video.samples.count {
            let sample = video.samples[index]
            if index > video.next, sample.isSync || bytes >= most || sample.dts >= latest { return index }
            bytes += sample.size
        }
        return video.samples.count
    }
}
