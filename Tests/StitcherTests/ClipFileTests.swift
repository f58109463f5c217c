// SPDX-License-Identifier: Apache-2.0

import Archive
import MP4
import Media
import RecordingSamples
import TestSupport
import Testing

@testable import Stitcher

@Suite struct ClipFileTests {
    private let temporary: TemporaryDirectory
    private let source: SegmentIndex

    init() throws {
        temporary = try TemporaryDirectory()
        try temporary.write(SampleRecording(ending: .rotate).closed, to: "source.mp4")
        source = try SegmentIndex.read(temporary.path("source.mp4"))
    }

    /// Appends the samples of the second from 1 s to 2 s, and returns both tracks.
    private func fill(_ clip: ClipFile) throws -> (video: ClipTrack, audio: ClipTrack?) {
        func track(_ track: IndexedTrack?, _ range: Range<Int>) throws -> ClipTrack? {
            guard let track else { return nil }
            var samples = Array(track.samples[range])
            for index in samples.indices {
                let sample = samples[index]
                samples[index].offset = try clip.copy(
                    sample.offset..<sample.offset + sample.size, of: source.descriptor)
            }
            return ClipTrack(samples: samples, start: samples[0].pts)
        }
        let video = try #require(try track(source.video, 25..<50))
        return (video, try track(source.audio, 47..<94))
    }

    private func finish(_ clip: ClipFile) throws {
        let tracks = try fill(clip)
        let tags = MovieTags(
            channel: source.facts.channel, start: UTCTime(milliseconds: 1_795_269_791_123),
            encoderSettings: source.encoderSettings, version: "1.2.3")
        let layout = MovieLayout(
            timescale: 48_000, creationTime: tags.secondsSince1904,
            tracks: [source.video.layout] + (source.audio.map { [$0.layout] } ?? []), userData: tags.box)
        try clip.finish(ClipMovie(video: tracks.video, audio: tracks.audio, layout: layout))
    }

    @Test func `A clip is a plain MP4 with the copied samples and the recording's encoder settings`() throws {
        try finish(try ClipFile(temporary.path("clip.mp4"), replaces: false))
        let clip = try SegmentIndex.read(temporary.path("clip.mp4"))
        #expect(clip.facts.isClosed && clip.facts.problems.isEmpty, "\(clip.facts.problems)")
        #expect(clip.facts.frames == 25 && clip.facts.audio?.samples == 47)
        #expect(clip.facts.duration == 1_000_000_000)
        #expect(clip.facts.start == UTCTime(milliseconds: 1_795_269_791_123) && clip.facts.channel == "test")
        #expect(clip.encoderSettings == source.encoderSettings && clip.video.coding == source.video.coding)
        #expect(clip.facts.position == nil, "a clip is no part of a recording")
        let bytes = try temporary.bytes("clip.mp4")
        for sample in clip.video.samples {
            #expect(Array(bytes[Int(sample.offset)..<Int(sample.offset) + 5]) == [0, 0, 0, 196, 0x41])
        }
        #expect(clip.video.samples[0].isSync && temporary.all.sorted() == ["clip.mp4", "source.mp4"])
    }

    @Test func `An unfinished clip leaves no file, and an existing file is replaced only on request`() throws {
        do {
            let clip = try ClipFile(temporary.path("clip.mp4"), replaces: false)
            _ = try clip.append(SharedBytes([1, 2, 3]))
            #expect(temporary.all.count == 2 && temporary.files == ["source.mp4"])
        }
        #expect(temporary.all == ["source.mp4"])
        let failure = #expect(throws: FileFailure.self) {
            try ClipFile(temporary.path("source.mp4"), replaces: false)
        }
        #expect(failure?.operation == "create")
        try finish(try ClipFile(temporary.path("source.mp4"), replaces: true))
        #expect(try SegmentReader.read(temporary.path("source.mp4")).frames == 25)
    }

    @Test func `A file that another program creates while a clip is written is not replaced`() throws {
        let clip = try ClipFile(temporary.path("clip.mp4"), replaces: false)
        try temporary.write([7], to: "clip.mp4")
        #expect(throws: FileFailure.self) { try finish(clip) }
        #expect(try temporary.bytes("clip.mp4") == [7])
    }
}
