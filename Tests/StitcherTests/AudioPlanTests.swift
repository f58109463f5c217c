// SPDX-License-Identifier: Apache-2.0

import Kernels
import Media
import Testing

@testable import Stitcher

@Suite struct AudioPlanTests {
    private func audio(_ sources: [StitchSource], _ clips: [StitchClip]) throws -> AudioPlan {
        let plan = try StitchPlan(clips, of: sources, StitchSettings())
        return try #require(AudioPlan(plan, clips, sources))
    }

    /// A transport stream of 90 frames that begins at `start`. Its audio begins `late` samples after its first frame.
    private func stream(_ name: String, at start: Int64, late: Int64) -> StitchSource {
        SampleInput.source(name) { source in
            source.container = "mpegts"
            source.video.times = source.video.times.map { $0 + start * 15_360 }
            source.video.end += start * 15_360
            source.audio?.range = start * 48_000 + late..<(start + 3) * 48_000 + 2 * late
        }
    }

    @Test func `Audio continues without a fade from one part of a transport stream to the next`() throws {
        let sources = [stream("a.ts", at: 3, late: 256), stream("b.ts", at: 6, late: 512)]
        let plan = try audio(sources, [StitchClip(path: "a.ts"), StitchClip(path: "b.ts")])
        #expect(plan.clips.map(\.isContinued) == [false, true])
        #expect(plan.clips[0].heard == 256..<144_000 && plan.clips[1].heard == 144_000..<288_000)
        #expect(plan.clips[0].fadeOut == nil && plan.clips[1].fadeIn == nil)
        let later = [sources[0], stream("b.ts", at: 7, late: 512)]
        let apart = try audio(later, [StitchClip(path: "a.ts"), StitchClip(path: "b.ts")])
        #expect(!apart.clips[1].isContinued && apart.clips[1].fadeIn != nil)
    }

    @Test func `Two clips with audio beyond their join are cross-faded for half a frame`() throws {
        let sources = [SampleInput.source(), SampleInput.source("b.mp4")]
        let clips = [
            StitchClip(path: "a.mp4", to: .seconds(1)), StitchClip(path: "b.mp4", from: .seconds(1), to: .seconds(2)),
        ]
        let plan = try audio(sources, clips)
        let fade = AudioPlan.Fade(range: 47_600..<48_400, shape: .equalPower)
        #expect(plan.count == 96_000)
        #expect(plan.clips[0].fadeOut == fade && plan.clips[1].fadeIn == fade)
        #expect(plan.clips[0].heard == 0..<48_400 && plan.clips[1].heard == 47_600..<96_000)
        #expect(plan.clips[0].shift == 0 && plan.clips[1].shift == 0)
        let middle = plan.clips[0].factor(at: 48_000)
        #expect(abs(middle - 0.707) < 0.01 && plan.clips[0].factor(at: 47_599) == 1)
        #expect(plan.clips[1].factor(at: 48_400) == 1)
    }

    @Test func `Two consecutive clips of one file are joined without a fade of the audio`() throws {
        let source = SampleInput.source()
        let clips = [StitchClip(path: "a.mp4", to: .seconds(1)), StitchClip(path: "a.mp4", from: .seconds(1))]
        let plan = try audio([source, source], clips)
        #expect(plan.clips.allSatisfy { $0.fadeIn == nil && $0.fadeOut == nil })
        let apart = try audio([source, source], [clips[0], StitchClip(path: "a.mp4", from: .seconds(2))])
        #expect(apart.clips[0].fadeOut?.shape == .linear)
    }

    @Test func `If neither clip has audio beyond the join, each clip has its own short fade`() throws {
        let sources = [SampleInput.source(), SampleInput.source("b.mp4")]
        let plan = try audio(sources, [StitchClip(path: "a.mp4"), StitchClip(path: "b.mp4")])
        #expect(plan.clips[0].fadeOut?.range == 143_760..<144_000)
        #expect(plan.clips[1].fadeIn?.range == 144_000..<144_240)
    }

    @Test func `If only one clip has audio beyond the join, the cross-fade is on that side`() throws {
        let long = SampleInput.source { $0.audio?.range = 0..<150_000 }
        let plan = try audio(
            [long, SampleInput.source("b.mp4")], [StitchClip(path: "a.mp4"), StitchClip(path: "b.mp4")])
        #expect(plan.clips[0].fadeOut?.range == 144_000..<144_800)
        #expect(plan.clips[1].fadeIn == plan.clips[0].fadeOut)
    }

    @Test func `A clip without audio is silent, and an audio offset moves the audio of its clip`() throws {
        let silent = SampleInput.source("b.mp4") { $0.audio = nil }
        var late = StitchClip(path: "c.mp4")
        late.audioOffset = .milliseconds(20)
        let sources = [SampleInput.source(), silent, SampleInput.source("c.mp4")]
        let plan = try audio(sources, [StitchClip(path: "a.mp4"), StitchClip(path: "b.mp4"), late])
        #expect(plan.clips[1].heard.isEmpty)
        #expect(plan.clips[2].shift == 288_000 + 960)
        #expect(plan.clips[2].fadeIn?.range.lowerBound == 288_960)
    }

    @Test func `During a transition the audio is cross-faded for as long as the video`() throws {
        var clip = StitchClip(path: "b.mp4")
        clip.transition = StitchTransition(Transition(.fade), duration: .seconds(1))
        let sources = [SampleInput.source(), SampleInput.source("b.mp4")]
        let plan = try audio(sources, [StitchClip(path: "a.mp4", to: .seconds(1)), clip])
        #expect(plan.clips[0].fadeOut?.range == 48_000..<96_000)
        #expect(plan.clips[1].fadeIn?.range == 48_000..<96_000)
    }

    @Test func `The stitch plan gives the reason for each clip whose audio is re-encoded`() throws {
        let changes: [(reason: String, change: (inout StitchSource) -> Void)] = [
            ("there is none", { $0.audio = nil }), ("it is opus", { $0.audio?.obstacle = "it is opus" }),
            ("it has 44100 Hz, not 48000", { $0.audio?.format = AudioFormat(sampleRate: 44_100, channels: 2) }),
            ("it is mono, not stereo", { $0.audio?.format = AudioFormat(sampleRate: 48_000, channels: 1) }),
        ]
        for (reason, change) in changes {
            let sources = [SampleInput.source(), SampleInput.source("b.mp4", change: change)]
            #expect(try audio(sources, sources.map { StitchClip(path: $0.name) }).reasons.last == reason)
        }
        let sources = [SampleInput.source(), SampleInput.source("b.mp4")]
        let clips = [StitchClip(path: "a.mp4"), StitchClip(path: "b.mp4", to: .milliseconds(500))]
        #expect(try audio(sources, clips).reasons.last == "it is shorter than a second")
        let plan = try StitchPlan(clips, of: sources, StitchSettings())
        #expect(
            try #require(AudioPlan(plan, clips, sources, .encode)).reasons == [
                "no audio is to be copied", "no audio is to be copied",
            ])
    }
}
