// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import MP4

@Suite struct ClipMovieTests {
    /// A movie whose tracks have these timescales. The movie itself has the timescale of its audio, or of its video if
    /// there is no audio.
    private func movie(_ video: ClipTrack, _ timescale: UInt32, audio: (ClipTrack, UInt32)? = nil) -> ClipMovie {
        var tracks = [MovieLayout.Track(id: 1, kind: .video, timescale: timescale, sampleDescription: [1, 2, 3])]
        if let audio {
            tracks.append(.init(id: 2, kind: .audio, timescale: audio.1, sampleDescription: [1, 2, 3]))
        }
        let layout = MovieLayout(
            timescale: audio?.1 ?? timescale, creationTime: 5, tracks: tracks, userData: [])
        return ClipMovie(video: video, audio: audio?.0, layout: layout)
    }

    private func samples(_ times: [Int64], duration: Int64, reorder: Int64 = 0) -> [IndexedSample] {
        times.enumerated().map { index, time in
            IndexedSample(
                dts: time, pts: time + reorder, duration: duration, offset: 100 + Int64(index) * 10, size: 10,
                isSync: index == 0)
        }
    }

    @Test func `A clip's decoding times begin at 0, and its edit lists align its tracks with the first frame`() throws {
        let clip = movie(
            ClipTrack(samples: samples([7000, 7100, 7200], duration: 100, reorder: 200), start: 7200), 3000,
            audio: (ClipTrack(samples: samples([112_000, 113_024], duration: 1024), start: 111_520), 48_000))
        #expect(clip.layout.timescale == 48_000 && clip.layout.tracks.map(\.id) == [1, 2])
        let video = try #require(clip.tables[1])
        #expect(video.start == 0 && video.duration == 300 && video.presentationEnd == 500)
        #expect(clip.layout.tracks[0].mediaTime == 200 && clip.layout.tracks[0].emptyEdit == 0)
        // The audio begins 480 samples after the first frame.
        #expect(clip.layout.tracks[1].mediaTime == 0 && clip.layout.tracks[1].emptyEdit == 480)
        // Contiguous samples form one chunk.
        #expect(video.chunks.count == 1 && video.chunks[0].offset == 100)
        #expect(video.syncSamples == [1])
    }

    @Test func `Each GOP of a clip becomes one fragment, with the audio of the same time`() throws {
        var frames = samples([0, 100, 200, 300, 400], duration: 100)
        frames[3].isSync = true
        // An audio packet between two frames: the frames are no longer contiguous.
        for index in 2..<5 { frames[index].offset += 10 }
        var packets = samples([500, 1524, 2548, 3572, 4596], duration: 1024)
        for index in packets.indices { packets[index].offset = index == 0 ? 120 : 1000 + Int64(index) * 10 }
        let (video, audio) = (ClipTrack(samples: frames, start: 0), ClipTrack(samples: packets, start: 500))
        let movie = movie(video, 1000, audio: (audio, 10_000))
        var clip = FragmentedClip(movie, video: video, audio: audio)
        // 0.3 s of audio are 2.93 packets: the third begins before the second keyframe.
        let pieces = [clip.next(at: 500), clip.next(at: 900), clip.next(at: 1300)]
        #expect(pieces[0]?.payload == [100..<120, 130..<140, 120..<130, 1010..<1030])
        #expect(pieces[1]?.payload == [140..<160, 1030..<1050])
        #expect(pieces[2] == nil)
    }

    /// All fragments of a clip without audio, with the start and duration from each `traf`.
    private func fragments(_ video: ClipTrack, timescale: UInt32) throws -> [(start: Int64, duration: Int64)] {
        let movie = movie(video, timescale)
        var clip = FragmentedClip(movie, video: video, audio: nil)
        var found: [(start: Int64, duration: Int64)] = []
        while let piece = clip.next(at: 500) {
            var header = BoxReader(piece.header[...])
            let traf = try header.box().body.first("traf")
            let run = try FragmentReader.run(traf, tracks: movie.layout.tracks).run
            var time = try traf.first("tfdt")
            _ = try time.versionAndFlags()
            let last = try #require(run.samples.last)
            found.append((Int64(try time.u64()), last.decodeTime + Int64(last.duration) - run.samples[0].decodeTime))
        }
        return found
    }

    @Test func `A fragment lasts until the next one begins, even where clips are joined`() throws {
        var frames = samples([7000, 7100, 7200, 7307, 7407, 7499, 7599], duration: 100)
        for index in [3, 5] { frames[index].isSync = true }
        let found = try fragments(ClipTrack(samples: frames, start: 7000), timescale: 1000)
        #expect(found.map(\.start) == [0, 307, 499])
        #expect(found.map(\.duration) == [307, 192, 200])
    }

    @Test func `A GOP of more than 10 s is split into several fragments`() throws {
        let frames = samples((0..<250).map { $0 * 100 }, duration: 100)
        let found = try fragments(ClipTrack(samples: frames, start: 0), timescale: 1000)
        #expect(found.map(\.start) == [0, 10_000, 20_000] && found.map(\.duration) == [10_000, 10_000, 5000])
    }

    @Test(arguments: [(Int64(100_000), UInt8(0)), (100_000_000, 1)])
    func `A fragmented clip states its duration, and a file that is being written does not`(
        duration: Int64, version: UInt8
    ) throws {
        let frames = (0..<2).map { index in
            IndexedSample(
                dts: index * duration / 2, pts: index * duration / 2, duration: duration / 2, offset: 100, size: 10,
                isSync: true)
        }
        let (video, packets) = (ClipTrack(samples: frames, start: 0), samples([0, 1024], duration: 1024))
        let audio = ClipTrack(samples: packets, start: 0)
        let movie = movie(video, 1000, audio: (audio, 48_000))
        let head = FragmentedClip(movie, video: video, audio: audio).head
        var moov = BoxReader(head[MovieBox.headSize...])
        let extends = try moov.box().body.first("mvex").boxes()
        #expect(extends.map(\.type) == ["mehd", "trex", "trex"])
        var box = extends[0].body
        #expect(try box.versionAndFlags().version == version)
        #expect(try box.time(version: version) == duration * 48)
        #expect(BoxReader.positions(of: Array("mehd".utf8), in: MovieBox.open(movie.layout)).isEmpty)
    }

    @Test func `In a MOV file the video refers to the chapter track, and the file is read without that track`() throws {
        let video = TrackDescription(
            video: .h264, frames: FrameFormat(width: 320, height: 180), timeBase: TimeBase(1, 30),
            decoderConfiguration: SharedBytes([1, 100, 0, 31, 255]))
        var layout = MovieLayout(
            description: StreamDescription(video: video, audio: nil), creationTime: 0, userData: [], form: .mov)
        layout.tracks.append(ChapterTrack.track(timescale: layout.tracks[0].timescale))
        let movie = ClipMovie(
            video: ClipTrack(samples: samples([0, 100, 200], duration: 100), start: 0), audio: nil,
            chapters: ClipTrack(samples: samples([0, 200], duration: 100), start: 0), layout: layout)
        let head = MovieBox.head(movie.layout, movie.tables, reserved: 4096, mediaEnd: 10_000)
        let file = try MovieFile.read(MemorySource(bytes: head))
        #expect(file.isClosed && file.layout.tracks.map(\.id) == [1] && file.tables[1]?.count == 3)
        var reader = BoxReader(head[MovieBox.fileTypeSize...])
        let tracks = try reader.box().body.boxes().filter { $0.type == "trak" }
        try #require(tracks.count == 2)
        var reference = try tracks[0].body.first("tref").first("chap")
        #expect(try reference.u32() == 3 && reference.count == 0)
        let others = try tracks[1].body.boxes().map(\.type)
        #expect(!others.contains("tref"))
        // The chapter track is in the movie, but is not enabled.
        var header = try tracks[1].body.first("tkhd")
        #expect(try header.versionAndFlags().flags == 2)
        let table = try tracks[1].body.first("mdia").first("minf").first("stbl")
        let times = try SampleTableReader.table(table, kind: .audio).durations.runs.map(\.value)
        #expect(times == [200, 100])
        let text = ChapterTrack.sample(Chapter(start: .zero, title: "\u{DC}b"))
        #expect(text == [0, 3, 0xC3, 0x9C, 0x62, 0, 0, 0, 12] + Array("encd".utf8) + [0, 0, 1, 0])
    }
}
