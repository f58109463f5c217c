// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Splits a clip into fragments: one for each GOP, or several for a long GOP, each with the audio of the same time.
package struct FragmentedClip {
    /// The parts of one fragment.
    package struct Piece {
        /// `moof` and the header of its `mdat`.
        package let header: [UInt8]
        /// The byte ranges of its samples in the clip, in the order in which they follow the header.
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

        /// The fragment's entries for these samples. The last sample lasts until the next fragment begins; where two
        /// files are joined, that may be longer than the sample's own duration.
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

    /// Limit for the bytes of a fragment's frames, not counting the last frame: the size of an `mdat` has 32 bits.
    private static let most: Int64 = 256 << 20
    /// The number of seconds after which a fragment ends even without a keyframe. Files with open GOPs or intra refresh
    /// have few keyframes, and a player that plays a file while it receives it must wait for a whole fragment.
    private static let longest: Int64 = 10

    /// The bytes that a player needs before the first fragment.
    package let head: [UInt8]
    private var video: Track?
    private var audio: Track?
    private var sequence: UInt32 = 0
    private var index = FragmentIndex(track: MovieLayout.videoID)

    /// The fragments of the clip `movie`, which has the tracks `video` and `audio`.
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

    /// The next fragment, which is written at `offset` in the file; nil after the last one.
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

    /// The keyframe index: the file's last box.
    package var tail: [UInt8] { index.encode() }

    private static func end(of video: Track) -> Int {
        let latest = video.samples[video.next].dts + longest * Int64(video.layout.timescale)
        var bytes: Int64 = 0
        for index in video.next..<video.samples.count {
            let sample = video.samples[index]
            if index > video.next, sample.isSync || bytes >= most || sample.dts >= latest { return index }
            bytes += sample.size
        }
        return video.samples.count
    }
}
