// SPDX-License-Identifier: Apache-2.0

import Archive
import Kernels
import LibAV
import MP4
import Media
import Testing

@testable import Stitcher

/// Sources for plans, without files on disk.
enum SampleInput {
    static let base = TimeBase(1, 15_360)
    static let configuration: [UInt8] = [1, 100, 0, 31]

    /// `count` frames at 30 a second, with a keyframe each `gop` frames and two B-frames between other frames.
    static func source(
        _ name: String = "a.mp4", count: Int = 90, gop: Int = 30, bFrames: Int = 2,
        change: (inout StitchSource) -> Void = { _ in }
    ) -> StitchSource {
        let step: Int64 = 512
        var numbers: [Int] = []
        for start in stride(from: 0, to: count, by: gop) {
            let end = min(start + gop, count)
            numbers.append(start)
            var next = start + 1
            while next < end {
                let anchor = min(next + bFrames, end - 1)
                numbers.append(anchor)
                numbers += next..<anchor
                next = anchor + 1
            }
        }
        let samples = numbers.enumerated().map { index, number in
            IndexedSample(
                dts: Int64(index) * step, pts: Int64(number), duration: step, offset: Int64(index) * 1000, size: 900,
                isSync: number.isMultiple(of: gop))
        }
        let times = (0..<count).map { Int64($0) * step }
        var source = StitchSource(
            name: name, path: "/" + name, container: "mov",
            video: StitchSource.Video(
                stream: 0, codec: "h264", frames: FrameFormat(width: 1280, height: 720), orientation: .upright,
                isInterlaced: false, configuration: configuration, obstacle: nil, timeBase: base, samples: samples,
                times: times, end: Int64(count) * step, rate: FrameRate(30), isConstant: true),
            audio: StitchSource.Audio(
                stream: 1, codec: "aac", format: AudioFormat(sampleRate: 48_000, channels: 2),
                timeBase: TimeBase(1, 48_000), range: 0..<Int64(count) * 1600), created: nil, position: nil)
        change(&source)
        return source
    }
}

@Suite struct StitchPlanTests {
    private func plan(
        _ sources: [StitchSource], _ clips: [StitchClip]? = nil, _ change: (inout StitchSettings) -> Void = { _ in }
    ) throws -> StitchPlan {
        var settings = StitchSettings()
        change(&settings)
        return try StitchPlan(clips ?? sources.map { StitchClip(path: $0.name) }, of: sources, settings)
    }

    @Test func `Files with the same coding are copied completely`() throws {
        let plan = try plan([SampleInput.source(), SampleInput.source("b.mp4", count: 3)])
        #expect(plan.parts == [.copied(clip: 0, samples: 0..<90), .copied(clip: 1, samples: 0..<3)])
        #expect(plan.frameCount == 93 && plan.copiedFrames == 93 && plan.clips[1].place == 90)
        #expect(plan.configuration == SampleInput.configuration && plan.codec == "h264")
    }

    @Test func `Files with only keyframes are copied completely, even if they have a single frame`() throws {
        let plan = try plan([SampleInput.source(count: 1), SampleInput.source("b.mp4", count: 5, gop: 1)])
        #expect(plan.parts == [.copied(clip: 0, samples: 0..<1), .copied(clip: 1, samples: 0..<5)])
    }

    @Test func `In a GOP that a clip cuts, only frames that depend on frames outside the clip are re-encoded`() throws {
        let clip = StitchClip(path: "a.mp4", from: .milliseconds(400), to: .milliseconds(2500))
        let plan = try plan([SampleInput.source()], [clip])
        // The clip is frames 12 to 74: 12 to 29 are re-encoded up to the keyframe 30; of the last GOP, 60 and complete
        // groups of three up to 72 are copied.
        #expect(
            plan.parts == [
                .encoded(clip: 0, frames: 0..<18), .copied(clip: 0, samples: 30..<73),
                .encoded(clip: 0, frames: 61..<63),
            ])
        #expect(plan.clips[0].frames == 12..<75 && plan.copiedFrames == 43)
    }

    @Test func `A clip without a complete GOP is re-encoded`() throws {
        let clip = StitchClip(path: "a.mp4", from: .milliseconds(100), to: .milliseconds(200))
        #expect(try plan([SampleInput.source()], [clip]).parts == [.encoded(clip: 0, frames: 0..<3)])
    }

    @Test func `A clip that differs from the others is re-encoded, and the stitch plan gives the reason`() throws {
        let changes: [(reason: String, change: (inout StitchSource) -> Void)] = [
            ("its frames are 640x360, not 1280x720", { $0.video.frames = FrameFormat(width: 640, height: 360) }),
            ("it is turned (clockwise)", { $0.video.orientation = .clockwise }),
            ("it is interlaced", { $0.video.isInterlaced = true }),
            ("its frame rate varies", { $0.video.isConstant = false }),
            ("it has 25 frames a second, not 30", { $0.video.rate = FrameRate(25) }),
            ("it is coded as hevc", { $0.video.codec = "hevc" }),
            ("its pixels are 4:3, not 1:1", { $0.video.frames.sampleAspectRatio = SampleAspectRatio(4, 3) }),
            ("its color range is full, not limited", { $0.video.frames.color.isFullRange = true }),
            (
                "its transfer characteristic is HLG (HDR), not BT.709",
                {
                    $0.video.frames.color = .bt709
                    $0.video.frames.color.transfer = 18
                }
            ),
            ("its container is flv, not MP4 or MOV", { $0.video.obstacle = "its container is flv, not MP4 or MOV" }),
            ("its parameter sets are not those of a.mp4", { $0.video.configuration = [1, 66, 0, 30] }),
        ]
        for (reason, change) in changes {
            let plan = try plan([SampleInput.source(), SampleInput.source("b.mp4", count: 60, change: change)])
            #expect(plan.clips[0].reasons.isEmpty && plan.clips[1].reasons == [reason])
            #expect(plan.parts.first == .copied(clip: 0, samples: 0..<90))
            #expect(plan.parts.last == .encoded(clip: 1, frames: 0..<plan.clips[1].count))
        }
    }

    @Test func `HDR color is kept if all frames are copied, and becomes BT.709 if any frame is re-encoded`() throws {
        let hlg = ColorDescription(primaries: 9, transfer: 18, matrix: 9, isFullRange: false)
        let source = SampleInput.source { $0.video.frames.color = hlg }
        #expect(try plan([source, source]).video.color == hlg)
        let mixed = try plan([source, SampleInput.source("b.mp4")])
        #expect(mixed.video.color == .bt709)
        #expect(
            mixed.clips[0].reasons == [
                "its color primaries are BT.2020, not BT.709", "its transfer characteristic is HLG (HDR), not BT.709",
                "its color matrix is BT.2020, not BT.709",
            ])
        #expect(mixed.parts == [.encoded(clip: 0, frames: 0..<90), .copied(clip: 1, samples: 0..<90)])
        let cut = try plan([source], [StitchClip(path: "a.mp4", from: .milliseconds(400))])
        #expect(cut.video.color == .bt709 && cut.copiedFrames == 0)
    }

    @Test func `Missing reference frames and pauses are reported for the clips in which they occur`() throws {
        let source = SampleInput.source {
            $0.video.headless = 1
            $0.video.isConstant = false
            for number in 60..<90 { $0.video.times[number] += 4 * 15_360 }
            $0.video.end += 4 * 15_360
            $0.audio?.range = 0..<7 * 48_000
        }
        let notes = try plan([source]).clips[0].notes
        #expect(
            notes == [
                "its first frame lacks those before it and is left out",
                "1s966ms into it there is no frame for 4s33ms: the last frame before it is held",
            ])
        #expect(try plan([source], [StitchClip(path: "a.mp4", from: .seconds(6))]).clips[0].notes.isEmpty)
    }

    @Test func `Clips with the same coding are copied completely even if relay cannot encode that coding`() throws {
        let changes: [(inout StitchSource) -> Void] = [
            { $0.video.orientation = .clockwise }, { $0.video.isInterlaced = true },
            {
                $0.video.is8Bit420 = false
                $0.video.configuration = [1, 110, 0, 31]
            },
        ]
        for change in changes {
            let source = SampleInput.source(change: change)
            let whole = try plan([source, source])
            #expect(whole.copiedFrames == 180 && whole.orientation == source.video.orientation)
            #expect(whole.video.width == 1280 && whole.clips.allSatisfy(\.reasons.isEmpty))
            // If any frame must be re-encoded, all frames are re-encoded.
            let cut = try plan(
                [source, source], [StitchClip(path: "a.mp4"), StitchClip(path: "a.mp4", to: .seconds(1.5))])
            #expect(cut.copiedFrames == 0 && cut.orientation == .upright)
            #expect(cut.clips.allSatisfy { $0.reasons.count == 1 })
            let mixed = try plan([source, SampleInput.source("b.mp4")])
            #expect(mixed.orientation == .upright && mixed.copiedFrames < 180)
            let asked = try plan([source, source]) { $0.size = .exactly(FrameSize(width: 640, height: 360)) }
            #expect(asked.copiedFrames == 0)
        }
    }

    @Test(arguments: Orientation.allCases)
    func `A rotation matrix rotates the frame and keeps its corner at the origin`(orientation: Orientation) {
        let matrix = orientation.matrix(320, 180).map { Int(Int32(bitPattern: $0)) }
        let (a, b, c, d) = (matrix[0], matrix[1], matrix[3], matrix[4])
        let corners = [(0, 0), (320, 0), (0, 180), (320, 180)].map { x, y in
            ((a * x + c * y + matrix[6]) >> 16, (b * x + d * y + matrix[7]) >> 16)
        }
        #expect(corners.map(\.0).min() == 0 && corners.map(\.1).min() == 0)
        #expect(corners.map(\.0).max() == (orientation.swapsAxes ? 180 : 320))
        let clockwise = Orientation.clockwise.matrix(320, 180)
        #expect(clockwise == [0, 0x10000, 0, 0xFFFF_0000, 0, 0, 180 << 16, 0, 0x4000_0000])
    }

    @Test func `A keyframe is re-encoded, not copied, if the frame after it is re-encoded as a keyframe`() throws {
        // The clip is frames 30 to 61: the keyframe 60 could be copied, but frame 61 refers to 63.
        let clip = StitchClip(path: "a.mp4", from: .seconds(1), to: .milliseconds(2067))
        let plan = try plan([SampleInput.source()], [clip])
        #expect(plan.parts == [.copied(clip: 0, samples: 30..<60), .encoded(clip: 0, frames: 30..<32)])
    }

    @Test func `A stitched file has the parameter sets of most of its frames, and other clips are re-encoded`() throws {
        let other: (inout StitchSource) -> Void = { $0.video.configuration = [1, 66, 0, 30] }
        let plan = try plan([
            SampleInput.source(count: 30), SampleInput.source("b.mp4", change: other),
            SampleInput.source("c.mp4", change: other),
        ])
        #expect(plan.configuration == [1, 66, 0, 30])
        #expect(plan.clips.map(\.reasons.count) == [1, 0, 0])
    }

    @Test func `HEVC that is cut at keyframes is copied, and other HEVC is re-encoded as H.264`() throws {
        let source = SampleInput.source { $0.video.codec = "hevc" }
        #expect(try plan([source, source]).codec == "hevc")
        let clip = StitchClip(path: "a.mp4", from: .seconds(1), to: .seconds(2))
        #expect(try plan([source], [clip]).parts == [.copied(clip: 0, samples: 30..<60)])
        let inner = try plan([source], [StitchClip(path: "a.mp4", from: .milliseconds(500))])
        #expect(inner.codec == "h264" && inner.copiedFrames == 0)
        #expect(inner.clips[0].reasons == ["it is coded as hevc"])
    }

    @Test
    func `A clip that follows another is not copied from an HEVC keyframe whose next frames need earlier frames`()
        throws
    {
        let source = SampleInput.source {
            $0.video.codec = "hevc"
            $0.video.dependentKeyframes = [30]
        }
        let late = StitchClip(path: "a.mp4", from: .seconds(1))
        let first = try plan([source, source], [late, StitchClip(path: "a.mp4")])
        #expect(first.parts == [.copied(clip: 0, samples: 30..<90), .copied(clip: 1, samples: 0..<90)])
        let second = try plan([source, source], [StitchClip(path: "a.mp4"), late])
        #expect(second.codec == "h264" && second.copiedFrames == 0)
    }

    @Test func `A transition begins with the second clip, whose first frames are re-encoded`() throws {
        let fade = StitchTransition(Transition(.fade), duration: .milliseconds(500))
        var clip = StitchClip(path: "b.mp4")
        clip.transition = fade
        let sources = [SampleInput.source(), SampleInput.source("b.mp4")]
        let plan = try plan(sources, [StitchClip(path: "a.mp4"), clip])
        #expect(plan.clips[1].transition == 15 && plan.frameCount == 180)
        #expect(
            plan.parts == [
                .copied(clip: 0, samples: 0..<90), .encoded(clip: 1, frames: 0..<30),
                .copied(clip: 1, samples: 30..<90),
            ])
        // During the transition, the first file shows its last frame.
        #expect(plan.number(of: 95, in: plan.clips[0], sources[0]) == 89)
        clip.to = .milliseconds(400)
        clip.origin = "show.yaml:7:11"
        #expect(throws: ClipFailure("show.yaml:7:11: b.mp4: its transition is longer than the clip.")) {
            try self.plan(sources, [StitchClip(path: "a.mp4"), clip])
        }
    }

    @Test
    func `The stitched file's size and rate are those of the first clip, the smallest or the requested ones`() throws {
        let small = SampleInput.source("b.mp4") { $0.video.frames = FrameFormat(width: 640, height: 360) }
        let sources = [SampleInput.source(), small]
        #expect(try plan(sources).video.width == 1280)
        #expect(try plan(sources) { $0.size = .smallest }.video.height == 360)
        let asked = try plan(sources) {
            $0.size = .exactly(FrameSize(width: 320, height: 240))
            $0.rate = FrameRate(60)
        }
        #expect(asked.video.width == 320 && asked.frameCount == 360 && asked.copiedFrames == 0)
        #expect((0..<6).map { asked.number(of: $0, in: asked.clips[0], sources[0]) } == [0, 0, 1, 1, 2, 2])
        let turned = SampleInput.source { $0.video.orientation = .clockwise }
        #expect(try plan([turned]) { $0.rate = FrameRate(60) }.video.height == 1280)
    }

    @Test func `A clip's range is reduced to complete frames that have audio`() throws {
        let source = SampleInput.source { $0.audio?.range = 4800..<140_000 }
        let range = try ClipRange(StitchClip(path: "a.mp4"), of: source, at: FrameRate(30))
        // 4800 samples last 3 frames, less the packet that may be missing; 140000 samples last 87.5 frames, plus one.
        #expect(range.frames == 3..<88)
        #expect(range.notes.count == 2)
        let part = StitchClip(path: "a.mp4", from: .milliseconds(110), to: .milliseconds(220))
        #expect(try ClipRange(part, of: SampleInput.source(), at: FrameRate(30)).frames == 4..<6)
    }

    @Test func `A range with the option to cover its ends includes the frames shown at both ends`() throws {
        func frames(_ from: Duration?, _ to: Duration?) throws -> Range<Int> {
            var clip = StitchClip(path: "a.mp4", from: from, to: to)
            clip.coversEnds = true
            return try ClipRange(clip, of: SampleInput.source(), at: FrameRate(30)).frames
        }
        // A frame lasts 33.3 ms.
        #expect(try frames(.milliseconds(120), .milliseconds(180)) == 3..<6)
        #expect(try frames(.milliseconds(133), .milliseconds(200)) == 4..<6)
        #expect(try frames(.milliseconds(140), .milliseconds(141)) == 4..<5)
        #expect(throws: ClipFailure.self) { try frames(.seconds(3600), nil) }
    }

    @Test func `A range can include every frame that begins in it, even the last, which ends after it`() throws {
        var clip = StitchClip(path: "a.mp4", from: .milliseconds(110), to: .milliseconds(220))
        clip.takesBegun = true
        // The frames begin at 133, 167 and 200 ms.
        #expect(try ClipRange(clip, of: SampleInput.source(), at: FrameRate(30)).frames == 4..<7)
    }

    @Test func `A clip that may be empty and has no frame is omitted, unless it is the only clip`() throws {
        var end = StitchClip(path: "a.mp4", from: .milliseconds(2999))
        (end.takesBegun, end.mayBeEmpty) = (true, true)
        end.transition = StitchTransition(Transition(.fade), duration: .seconds(1))
        let rest = StitchClip(path: "b.mp4", to: .milliseconds(200))
        let filled = try StitchJob.filled([end, rest], [SampleInput.source(), SampleInput.source()])
        #expect(filled.clips.map(\.path) == ["b.mp4"] && filled.numbers == [1])
        #expect(filled.clips.first?.transition == end.transition)
        #expect(filled.leftOut.count == 1)
        // The transition is also kept if two clips are dropped.
        var second = end
        second.transition = nil
        let sources = Array(repeating: SampleInput.source(), count: 3)
        #expect(try StitchJob.filled([end, second, rest], sources).clips.first?.transition == end.transition)
        #expect(throws: ClipFailure.self) { try StitchJob.filled([end], [SampleInput.source()]) }
        end.mayBeEmpty = false
        #expect(try StitchJob.filled([end, rest], [SampleInput.source(), SampleInput.source()]).numbers == [0, 1])
    }

    @Test func `A range without a frame is refused with the reason`() {
        func failure(_ from: Duration?, _ to: Duration?) -> String? {
            do throws(ClipFailure) {
                _ = try ClipRange(
                    StitchClip(path: "a.mp4", from: from, to: to), of: SampleInput.source(), at: FrameRate(30))
                return nil
            } catch {
                return error.description
            }
        }
        #expect(failure(.seconds(2), .seconds(1)) == "a.mp4: it would begin at 2s, which is not before its end at 1s.")
        #expect(failure(.seconds(7), nil) == "a.mp4: it would begin at 7s, but lasts only 3s.")
        #expect(
            failure(.milliseconds(1010), .milliseconds(1030))
                == "a.mp4: there is no whole frame in the range; the file lasts 3s.")
    }
}

@Suite struct FrameTimingTests {
    @Test func `A constant frame rate is recognized in rounded times, and so is a varying frame rate`() {
        func timing(_ times: [Int64], _ base: TimeBase, _ average: FrameRate? = nil) -> FrameTiming {
            FrameTiming(times, base, average: average)
        }
        let milliseconds = (0..<300).map { FrameRate(30000, 1001).timeBase.rescale(Int64($0), to: .milliseconds) }
        let found = timing(milliseconds, .milliseconds)
        #expect(found.rate == FrameRate(30000, 1001) && found.isConstant)
        #expect(timing([0, 40, 80], .milliseconds).rate == FrameRate(25))
        #expect(timing([0, 1, 2, 3], TimeBase(1, 25)).isConstant)
        #expect(timing([0, 1, 2, 4], TimeBase(1, 25)).isConstant == false)
        let own = timing([0, 7000, 14000], TimeBase(1, 90_000))
        #expect(own.isConstant && own.rate == FrameRate(90_000, 7000))
        let varying = timing([0, 33, 80, 100, 150, 166], .milliseconds)
        #expect(varying.isConstant == false && varying.rate == FrameRate(30))
        let torn = FrameTiming.whole([0, 40, 80, 120, 160, 280, 320], .milliseconds, average: nil)
        #expect(torn.count == 5 && torn.timing.rate == FrameRate(25) && torn.timing.isConstant)
        #expect(FrameTiming.whole([0, 33, 80, 100, 150, 400], .milliseconds, average: nil).count == 6)
        #expect(timing([5], .milliseconds, FrameRate(24)).rate == FrameRate(24))
    }
}

@Suite struct StitchOrderTests {
    @Test func `Files are sorted by the numbers in their names, and times are parsed from names`() throws {
        let names = ["cam_10.mp4", "cam_9.mp4", "cam_1.mp4"].map { SampleInput.source($0) }
        #expect(try StitchOrder.byName.order(names) == [2, 1, 0])
        let time = try #require(UTCTime(extended: "2026-11-21T14:03:10.000Z")?.milliseconds)
        for name in ["a_20261121T140310Z_1.mp4", "VID_20261121_140310.mp4", "2026-11-21 14.03.10.mov"] {
            #expect(StitchOrder.time(inName: name) == time, "\(name)")
        }
        let dated = SampleInput.source("z.mp4") { $0.created = time - 1 }
        #expect(try StitchOrder.byTime.order([SampleInput.source("a_20261121T140310Z.mp4"), dated]) == [1, 0])
        #expect(throws: ClipFailure.self) { try StitchOrder.byTime.order(names) }
    }

    @Test func `A transition's color, even black, is drawn in the color range of the stitched file`() {
        var full = ColorDescription.bt709
        full.isFullRange = true
        let dip = StitchTransition(Transition(.dip), duration: .seconds(1))
        #expect(dip.drawn(in: full).color == PixelColor(y: 0, u: 128, v: 128) && dip.drawn(in: .bt709).color == .black)
        let white = StitchTransition(Transition(.dip), duration: .seconds(1), color: .white)
        #expect(white.drawn(in: .bt709).color == PixelColor(y: 235, u: 128, v: 128))
    }
}
