// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Program

/// A file in a program that does not wait for it.
@Suite struct PacedSourceTests {
    private static let storage = FrameBuffer(width: 2, height: 2) {
        $0.initializeMemory(as: UInt8.self, repeating: 0)
    }
    private let rate = FrameRate(25)
    private let clock = ManualClock()
    private let feed: SourceFeed

    init() { feed = SourceFeed(pacing: .paced, frameRate: rate, audio: .program, clock: clock) }

    private var now: MonotonicInstant { clock.now }
    private var hasVideo: Bool { feed.newestVideo(at: now) == now }

    private func deliver(frames: Range<Int64>) {
        for number in frames {
            feed.deliver(
                VideoFrame(pts: number, timeBase: rate.timeBase, width: 2, height: 2, storage: Self.storage))
        }
    }

    /// Delivers the audio of these frames: each sample is the number of its frame, counted from 1.
    private func deliver(audio frames: Range<Int64>) {
        let channel = frames.flatMap { [Float](repeating: Float($0 + 1), count: 1920) }
        feed.deliver(
            AudioBuffer(position: frames.lowerBound * 1920, format: .program, channels: [channel, channel]))
    }

    /// Plays frame `index` of a program that skipped `skipped` frames before it. Checks that the frame `pts` is shown,
    /// and that the frame's first sample is `first` and its last one `last`.
    private func play(
        _ index: Int64, skipped: Int64 = 0, shows pts: Int64?, hears first: Int64, to last: Int64? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        clock.advance(by: .milliseconds(40))
        let shown = feed.frame(for: FrameIndex(index))?.frame.pts
        let heard = feed.audio(
            from: SampleIndex((index - skipped) * 1920), upTo: SampleIndex((index + 1) * 1920)
        ).channels[0]
        #expect(shown == pts, "frame \(index)", sourceLocation: sourceLocation)
        #expect(heard.first == Float(first), "frame \(index)", sourceLocation: sourceLocation)
        #expect(heard.last == Float(last ?? first), "frame \(index)", sourceLocation: sourceLocation)
    }

    @Test("If a file has a frame only every few seconds, its current frame is held while its audio plays")
    func sparse() {
        deliver(frames: 0..<1)
        deliver(audio: 0..<25)
        #expect(!feed.isPrimed)
        feed.markStarved(.video)
        #expect(feed.isPrimed)
        for index in Int64(0)..<100 {
            play(index, shows: 0, hears: index + 1)
            // Delivers audio a second ahead, like a reader whose buffer is full.
            deliver(audio: index + 25..<index + 26)
            feed.markStarved(.video)
            #expect(hasVideo)
        }
        deliver(frames: 110..<111)
        for index in Int64(100)..<124 {
            play(index, shows: index < 110 ? 0 : 110, hears: index + 1)
            feed.markStarved(.video)
        }
        #expect(feed.status.framesLate == 0 && feed.status.silentSamples == 0)
    }

    @Test("An image has video as long as it is wanted; a file's last frame, or an image with longer audio, does not")
    func image() {
        for (isMarked, audio) in [(true, 0), (true, 2), (false, 0), (false, 2), (true, 10)] as [(Bool, Int64)] {
            let (test, isImage) = (Self(), isMarked && audio < 10)
            test.deliver(frames: 0..<1)
            if audio > 0 { test.deliver(audio: 0..<audio) }
            if isMarked { test.feed.markImage() }
            test.feed.end(.video)
            #expect(test.hasVideo)
            test.feed.end(.audio)
            for index in Int64(0)..<20 {
                test.clock.advance(by: .milliseconds(40))
                _ = test.feed.frame(for: FrameIndex(index))
                _ = test.feed.audio(from: SampleIndex(index * 1920), upTo: SampleIndex((index + 1) * 1920))
            }
            #expect(test.hasVideo == isImage, "marked: \(isMarked), \(audio) frames of audio")
        }
    }

    @Test("If the disk is too slow for a file that has few frames, the file's video and audio pause together")
    func slowDisk() {
        deliver(frames: 0..<1)
        deliver(audio: 0..<25)
        feed.markStarved(.video)
        for index in Int64(0)..<24 {
            play(index, shows: 0, hears: index + 1)
            #expect(hasVideo)
        }
        let last = now
        play(24, shows: 0, hears: 25)
        // Whether a frame belongs to this audio is unknown until more of the file is read.
        deliver(audio: 25..<26)
        for index in Int64(25)..<30 { play(index, shows: 0, hears: 0) }
        #expect(feed.status.framesLate == 5 && feed.newestVideo(at: now) == last)
        deliver(audio: 26..<50)
        deliver(frames: 30..<31)
        for index in Int64(30)..<36 { play(index, shows: index < 35 ? 0 : 30, hears: index - 4) }
    }

    @Test("When a looped file is reopened, its video and audio pause together")
    func openedAgain() {
        deliver(frames: 0..<1)
        deliver(audio: 0..<25)
        play(0, shows: 0, hears: 1)
        feed.markStarved(.video)
        feed.markStarved(.audio)
        play(1, shows: 0, hears: 0)
        deliver(frames: 1..<2)
        play(2, shows: 1, hears: 2)
    }

    @Test("A file's last frame is held until the file's audio has ended")
    func tail() {
        deliver(frames: 0..<4)
        deliver(audio: 0..<20)
        feed.end(.video)
        feed.end(.audio)
        for index in Int64(0)..<19 {
            play(index, shows: index < 4 ? index : nil, hears: index + 1)
            #expect(hasVideo)
        }
        let last = now
        play(19, shows: nil, hears: 20)
        play(20, shows: nil, hears: 0)
        #expect(feed.newestVideo(at: now) == last)
    }

    @Test(
        "If a file's audio is longer than its video by more than container padding, the file ends with its audio",
        arguments: [(Int64(2), FrameIndex(9)), (Int64(3), FrameIndex(12))])
    func end(tail: Int64, end: FrameIndex) {
        feed.begin(at: 5)
        deliver(frames: 0..<4)
        deliver(audio: 0..<4)
        feed.end(.video)
        #expect(feed.end == nil)
        deliver(audio: 4..<4 + tail)
        feed.end(.audio)
        for index in Int64(5)..<20 {
            #expect(feed.end == end)
            play(index, shows: index < 9 ? index - 5 : nil, hears: index < 9 + tail ? index - 4 : 0)
        }
    }

    @Test("If a program skips frames while a file stalls, the file's audio stays in sync with its video")
    func skippedWhileStalled() {
        deliver(frames: 0..<3)
        deliver(audio: 0..<3)
        for index in Int64(0)..<3 { play(index, shows: index, hears: index + 1) }
        play(3, shows: 2, hears: 0)
        play(20, skipped: 16, shows: 2, hears: 0)
        deliver(frames: 3..<8)
        deliver(audio: 3..<10)
        play(21, shows: 3, hears: 4)
        // A playing file advances by as many frames as were skipped.
        play(24, skipped: 2, shows: 6, hears: 5, to: 7)
        play(25, shows: 7, hears: 8)
        // The frames for which the file is paused are not skipped a second time.
        feed.stand(for: 3)
        play(29, shows: 7, hears: 0)
        deliver(frames: 8..<9)
        play(30, shows: 8, hears: 9)
    }
}
