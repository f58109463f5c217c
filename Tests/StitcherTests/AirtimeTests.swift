// SPDX-License-Identifier: Apache-2.0

import LibAV
import MP4
import Media
import Testing

@testable import Stitcher

/// Tests clips that begin in the result at their time on air.
@Suite struct AirtimeTests {
    private func clip(_ name: String, at airtime: Duration?, from: Duration? = nil) -> StitchClip {
        var clip = StitchClip(path: name, from: from)
        (clip.coversEnds, clip.airtime) = (true, airtime)
        return clip
    }

    private func plan(_ clips: [StitchClip], _ sources: [StitchSource]) throws -> StitchPlan {
        try StitchPlan(clips, of: sources, StitchSettings())
    }

    @Test
    func `A clip's last frame is held until the next clip's airtime, and the next clip's frames are copied`() throws {
        let sources = [SampleInput.source(), SampleInput.source("b.mp4")]
        // The first clip begins with frame 30, which is the frame shown at 1.01 s. The second clip's file begins on air
        // 10 s after the first clip's file.
        let clips = [clip("a.mp4", at: .seconds(5), from: .milliseconds(1010)), clip("b.mp4", at: .seconds(15))]
        let plan = try plan(clips, sources)
        #expect(plan.clips.map(\.place) == [0, 270] && plan.clips.map(\.held) == [210, 0] && plan.frameCount == 360)
        #expect(
            plan.parts == [
                .copied(clip: 0, samples: 30..<90), .encoded(clip: 0, frames: 60..<270),
                .copied(clip: 1, samples: 0..<90),
            ])
        for index in [59, 60, 269] { #expect(plan.number(of: index, in: plan.clips[0], sources[0]) == 89) }
        // Clips without a time on air follow each other directly.
        let joined = try self.plan([clip("a.mp4", at: nil), clip("b.mp4", at: nil)], sources)
        #expect(joined.clips.map(\.place) == [0, 90] && joined.copiedFrames == 180)
    }

    @Test func `A clip that ends within a frame does not shift the clips after it`() throws {
        let source = SampleInput.source(count: 10) {
            $0.video.isConstant = false
            // The source lasts ten and a half frames.
            $0.video.end += 256
        }
        let clips = (0..<5).map { clip("a.mp4", at: .milliseconds(350 * $0)) }
        let sources = clips.map { _ in source }
        #expect(try plan(clips, sources).clips.map(\.place) == [0, 11, 21, 32, 42])
    }

    @Test func `Frames without audio stay in their clip, and a gap between clips is silent`() throws {
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

    @Test func `A gap of more than 12 hours between two clips is refused`() throws {
        let sources = [SampleInput.source(), SampleInput.source("b.mp4")]
        let failure = ClipFailure(
            "More than 12 hours lie between a.mp4 and b.mp4: export them separately, or with relay recordings export --join, "
                + "which leaves out everything between.")
        #expect(throws: failure) {
            try plan([clip("a.mp4", at: .zero), clip("b.mp4", at: .seconds(13 * 3600))], sources)
        }
    }

    @Test func `Extended frames do not count when the most frequent parameter sets are chosen`() throws {
        let sources = [
            SampleInput.source(count: 30), SampleInput.source("b.mp4") { $0.video.configuration = [1, 66, 0, 30] },
        ]
        let plan = try plan([clip("a.mp4", at: .zero), clip("b.mp4", at: .seconds(10))], sources)
        #expect(plan.clips[0].held == 270 && plan.clips.map(\.reasons.count) == [1, 0])
        #expect(plan.configuration == [1, 66, 0, 30])
        #expect(plan.parts == [.encoded(clip: 0, frames: 0..<300), .copied(clip: 1, samples: 0..<90)])
    }

    @Test func `If relay cannot encode a clip, it is copied, and its last frame lasts until the next clip`() throws {
        let hlg = ColorDescription(primaries: 9, transfer: 18, matrix: 9, isFullRange: false)
        let changes: [(inout StitchSource) -> Void] = [
            { $0.video.codec = "hevc" }, { $0.video.frames.color = hlg }, { $0.video.is8Bit420 = false },
            { $0.video.isInterlaced = true }, { $0.video.orientation = .clockwise },
        ]
        let clips = [clip("a.mp4", at: .zero), clip("b.mp4", at: .seconds(10))]
        for change in changes {
            let sources = [SampleInput.source(change: change), SampleInput.source("b.mp4", change: change)]
            let plan = try plan(clips, sources)
            #expect(plan.parts == [.copied(clip: 0, samples: 0..<90), .copied(clip: 1, samples: 0..<90)])
            #expect(plan.lengthens && plan.clips.map(\.held) == [210, 0] && plan.clips.map(\.place) == [0, 300])
            #expect(plan.codec == sources[0].video.codec && plan.orientation == sources[0].video.orientation)
            #expect(plan.video.color.isHDR == sources[0].color.isHDR && plan.mappedClips(sources).isEmpty)
            #expect(plan.frameCount == 390 && plan.copiedFrames == 390)
            // If any frame is re-encoded, the frozen frames are re-encoded as well.
            let cut = try self.plan([clip("a.mp4", at: .zero, from: .milliseconds(510)), clips[1]], sources)
            #expect(!cut.lengthens && cut.codec == "h264" && cut.copiedFrames == 0 && cut.frameCount == 375)
        }
    }

    @Test func `An extended frame and all frames after it are decoded and presented on time`() throws {
        let sources = ["a.mp4", "b.mp4"].map { SampleInput.source($0) { $0.video.codec = "hevc" } }
        let plan = try plan([clip("a.mp4", at: .zero), clip("b.mp4", at: .seconds(10))], sources)
        let frames = zip(plan.clips, sources).flatMap { clip, source in
            source.video.samples.map { sample in
                var sample = sample
                sample.pts += Int64(clip.place)
                return sample
            }
        }
        let samples = try plan.track(of: frames, sources, timescale: 30_000, moves: [0, 300]).samples
        let shown = (0..<90).map { Int64($0) * 1000 } + (300..<390).map { Int64($0) * 1000 + 300 }
        #expect(samples.map(\.pts).sorted() == shown)
        #expect(samples.allSatisfy { $0.dts <= $0.pts && $0.pts - $0.dts <= 3000 && $0.duration == 1000 })
        #expect(samples[0].dts == -1000 && samples[90].dts == 299_300 && samples[90].dts - samples[89].dts == 211_300)
        #expect(throws: ClipFailure.self) {
            try plan.track(of: Array(frames.dropLast()), sources, timescale: 30_000, moves: [])
        }
    }
}
