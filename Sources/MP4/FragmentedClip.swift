// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The fragments of a clip: one for each GOP, with the audio that is heard meanwhile.
package struct FragmentedClip {
    /// What one fragment is made of.
    package struct Piece {
        /// `moof` and the header of its `mdat`.
        package let header: [UInt8]
        /// Where its samples lie in the clip, in the order in which they follow the header.
        package let payload: [Range<Int64>]
    }

    private struct Track {
        let layout: MovieLayout.Track
        let samples: [IndexedSample]
        let start: Int64
        var next = 0

        var base: TimeBase { TimeBase(1, Int32(clamping: layout.timescale)) }

        mutating func run(to end: Int) -> (run: Fragment.Run, payload: [Range<Int64>])? {
            guard next < end, let zero = samples.first?.dts else { return nil }
            let taken = samples[next..<end]
            next = end
            var payload: [Range<Int64>] = []
            for sample in taken {
                let bytes = sample.offset..<sample.offset + sample.size
                if let last = payload.last, last.upperBound == bytes.lowerBound {
                    payload[payload.count - 1] = last.lowerBound..<bytes.upperBound
                } else {
                    payload.append(bytes)
                }
            }
            return (Fragment.Run(track: layout, samples: taken.map { SampleEntry($0, from: zero) }), payload)
        }
    }

    /// Frames of a fragment are no more bytes than this, but for its last one: the size of an `mdat` has 32 bits.
    private static let most: Int64 = 256 << 20

    /// What a player needs before the first fragment.
    package let head: [UInt8]
    private var video: Track?
    private var audio: Track?
    private var sequence: UInt32 = 0
    private var index = FragmentIndex(track: MovieLayout.videoID)

    /// The fragments of the clip `movie` of these tracks.
    package init(_ movie: ClipMovie, video: ClipTrack, audio: ClipTrack?) {
        head = MovieBox.openHead + MovieBox.open(movie.layout)
        for layout in movie.layout.tracks {
            if layout.kind == .video {
                self.video = Track(layout: layout, samples: video.samples, start: video.start)
            } else if let audio {
                self.audio = Track(layout: layout, samples: audio.samples, start: audio.start)
            }
        }
    }

    /// What follows, at `offset` of the file; nil behind the last fragment.
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

    /// Where decoding can start: the file's last box.
    package var tail: [UInt8] { index.encode() }

    private static func end(of video: Track) -> Int {
        var bytes: Int64 = 0
        for index in video.next..<video.samples.count {
            if index > video.next, video.samples[index].isSync || bytes >= most { return index }
            bytes += video.samples[index].size
        }
        return video.samples.count
    }
}
