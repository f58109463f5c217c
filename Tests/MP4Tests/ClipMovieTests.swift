// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import MP4

@Suite struct ClipMovieTests {
    private func track(_ id: UInt32, _ kind: TrackKind, _ timescale: UInt32) -> IndexedTrack {
        IndexedTrack(
            layout: MovieLayout.Track(id: id, kind: kind, timescale: timescale, sampleDescription: [1, 2, 3]),
            samples: [], coding: [], decoderConfiguration: [])
    }

    private func samples(_ times: [Int64], duration: Int64, reorder: Int64 = 0) -> [IndexedSample] {
        times.enumerated().map { index, time in
            IndexedSample(
                dts: time, pts: time + reorder, duration: duration, offset: 100 + Int64(index) * 10, size: 10,
                isSync: index == 0)
        }
    }

    @Test func `Times begin at 0, and what is decoded before the first frame is hidden`() throws {
        let clip = ClipMovie(
            video: (
                ClipTrack(samples: samples([7000, 7100, 7200], duration: 100, reorder: 200), start: 7200),
                like: track(1, .video, 3000)
            ),
            audio: (
                ClipTrack(samples: samples([112_000, 113_024], duration: 1024), start: 111_520),
                like: track(2, .audio, 48_000)
            ), creationTime: 5, userData: [])
        #expect(clip.layout.timescale == 48_000 && clip.layout.tracks.map(\.id) == [1, 2])
        let video = try #require(clip.tables[1])
        #expect(video.start == 0 && video.duration == 300 && video.presentationEnd == 500)
        #expect(clip.layout.tracks[0].mediaTime == 200 && clip.layout.tracks[0].emptyEdit == 0)
        // The audio begins 480 samples behind the first frame.
        #expect(clip.layout.tracks[1].mediaTime == 0 && clip.layout.tracks[1].emptyEdit == 480)
        // Samples that lie together are one chunk.
        #expect(video.chunks.count == 1 && video.chunks[0].offset == 100)
        #expect(video.syncSamples == [1])
    }

    @Test func `Without audio the movie counts as the video does`() {
        let clip = ClipMovie(
            video: (ClipTrack(samples: samples([0, 100], duration: 100), start: 0), like: track(1, .video, 3000)),
            audio: nil, creationTime: 0, userData: [])
        #expect(clip.layout.timescale == 3000 && clip.layout.tracks.count == 1)
    }

    @Test func `In fragments each GOP is one, with the audio that is heard meanwhile`() throws {
        var frames = samples([0, 100, 200, 300, 400], duration: 100)
        frames[3].isSync = true
        // A packet of audio between two frames: they no longer lie together.
        for index in 2..<5 { frames[index].offset += 10 }
        var packets = samples([500, 1524, 2548, 3572, 4596], duration: 1024)
        for index in packets.indices { packets[index].offset = index == 0 ? 120 : 1000 + Int64(index) * 10 }
        let (video, audio) = (ClipTrack(samples: frames, start: 0), ClipTrack(samples: packets, start: 500))
        let movie = ClipMovie(
            video: (video, like: track(1, .video, 1000)), audio: (audio, like: track(2, .audio, 10_000)),
            creationTime: 0, userData: [])
        var clip = FragmentedClip(movie, video: video, audio: audio)
        // 0.3 s of audio are 2.93 packets: the third begins before the second keyframe.
        let pieces = [clip.next(at: 500), clip.next(at: 900), clip.next(at: 1300)]
        #expect(pieces[0]?.payload == [100..<120, 130..<140, 120..<130, 1010..<1030])
        #expect(pieces[1]?.payload == [140..<160, 1030..<1050])
        #expect(pieces[2] == nil)
    }
}
