// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

@testable import Stitcher

/// Clips that begin in the result when they were on air.
@Suite struct AirtimeTests {
    private func clip(_ name: String, at airtime: Duration?, from: Duration? = nil) -> StitchClip {
        var clip = StitchClip(path: name, from: from)
        (clip.coversEnds, clip.airtime) = (true, airtime)
        return clip
    }

    private func plan(_ clips: [StitchClip], _ sources: [StitchSource]) throws -> StitchPlan {
        try StitchPlan(clips, of: sources, StitchSettings())
    }

    @Test func `Over a hole the last frame stays, and what is behind it is copied at its time`() throws {
        let sources = [SampleInput.source(), SampleInput.source("b.mp4")]
        // From frame 30 on, which is seen then; the other file began ten seconds after the first.
        let clips = [clip("a.mp4", at: .seconds(5), from: .milliseconds(1010)), clip("b.mp4", at: .seconds(15))]
        let plan = try plan(clips, sources)
        #expect(plan.clips.map(\.place) == [0, 270] && plan.clips.map(\.held) == [210, 0] && plan.frameCount == 360)
        #expect(
            plan.parts == [
                .copied(clip: 0, samples: 30..<90), .encoded(clip: 0, frames: 60..<270),
                .copied(clip: 1, samples: 0..<90),
            ])
        for index in [59, 60, 269] { #expect(plan.number(of: index, in: plan.clips[0], sources[0]) == 89) }
        // Without a time each follows at once.
        let joined = try self.plan([clip("a.mp4", at: nil), clip("b.mp4", at: nil)], sources)
        #expect(joined.clips.map(\.place) == [0, 90] && joined.copiedFrames == 180)
    }

    @Test func `What does not end with a whole frame puts nothing behind it out of step`() throws {
        let source = SampleInput.source(count: 10) {
            $0.video.isConstant = false
            // Ten frames and a half.
            $0.video.end += 256
        }
        let clips = (0..<5).map { clip("a.mp4", at: .milliseconds(350 * $0)) }
        let sources = clips.map { _ in source }
        #expect(try plan(clips, sources).clips.map(\.place) == [0, 11, 21, 32, 42])
    }

    @Test func `Frames without audio belong to it, and those of a hole are silent`() throws {
        let short = SampleInput.source { $0.audio?.range = 4800..<140_000 }
        let range = try ClipRange(clip("a.mp4", at: .zero), of: short, at: FrameRate(30))
        #expect(range.frames == 0..<90 && range.notes.isEmpty)
        let sources = [SampleInput.source(), SampleInput.source("b.mp4")]
        let clips = [clip("a.mp4", at: .zero), clip("b.mp4", at: .seconds(10))]
        let audio = try #require(AudioPlan(try plan(clips, sources), clips, sources))
        #expect(audio.count == 624_000)
        #expect(audio.clips.map(\.heard) == [0..<144_000, 480_000..<624_000])
        #expect(audio.clips[0].fadeOut?.range == 143_760..<144_000 && audio.clips[1].fadeIn?.range == 480_000..<480_240)
    }

    @Test func `A hole of half a day and more is no part of a clip`() throws {
        let sources = [SampleInput.source(), SampleInput.source("b.mp4")]
        let failure = ClipFailure("More than 12 hours lie between a.mp4 and b.mp4; export them separately.")
        #expect(throws: failure) {
            try plan([clip("a.mp4", at: .zero), clip("b.mp4", at: .seconds(13 * 3600))], sources)
        }
    }
}
