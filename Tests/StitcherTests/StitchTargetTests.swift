// SPDX-License-Identifier: Apache-2.0

import LibAV
import Media
import Testing

@testable import Stitcher

/// The format that the clips of a result have in common.
@Suite struct StitchTargetTests {
    private func target(
        _ sources: [StitchSource], _ change: (inout StitchSettings) -> Void = { _ in }
    ) throws -> StitchTarget {
        var settings = StitchSettings()
        change(&settings)
        return try #require(StitchTarget(sources, settings))
    }

    private func size(_ target: StitchTarget) -> [Int] { [target.video.width, target.video.height] }

    @Test func `The size and the rate are those of the first clip, unless the settings choose others`() throws {
        let small = SampleInput.source("b.mp4") {
            $0.video.frames = FrameFormat(width: 640, height: 360)
            $0.video.rate = FrameRate(25)
        }
        let sources = [SampleInput.source(), small]
        #expect(try size(target(sources)) == [1280, 720] && target(sources).video.frameRate == FrameRate(30))
        #expect(try size(target(sources.reversed())) == [640, 360])
        #expect(try size(target(sources) { $0.size = .smallest }) == [640, 360])
        let chosen = try target(sources) {
            ($0.size, $0.rate) = (.exactly(FrameSize(width: 1920, height: 1080)), FrameRate(50))
        }
        #expect(size(chosen) == [1920, 1080] && chosen.video.frameRate == FrameRate(50))
        #expect(StitchTarget([], StitchSettings()) == nil)
    }

    @Test func `A turned clip has the size in which it is shown, or as it is coded if all frames are copied`() throws {
        let turned = SampleInput.source { $0.video.orientation = .clockwise }
        let target = try target([turned])
        #expect(size(target) == [720, 1280] && target.orientation == .upright && !target.takes([turned]))
        let whole = try #require(target.whole(like: turned))
        #expect(size(whole) == [1280, 720] && whole.orientation == .clockwise)
        #expect(whole.differences(of: turned, codec: "h264").isEmpty)
        #expect(target.whole(like: SampleInput.source()) == nil, "a clip of another size is not copied")
    }

    @Test func `Audio is stereo if any clip is, at a rate that all players know`() throws {
        func source(_ rate: Int32?, channels: Int = 1) -> StitchSource {
            SampleInput.source {
                guard let rate else { return $0.audio = nil }
                $0.audio?.format = AudioFormat(sampleRate: rate, channels: channels)
            }
        }
        #expect(try target([source(nil), source(nil)]).audio == nil)
        #expect(try target([source(nil), source(44_100)]).audio == AudioFormat(sampleRate: 44_100, channels: 1))
        #expect(
            try target([source(22_050), source(44_100, channels: 6)]).audio
                == AudioFormat(sampleRate: 48_000, channels: 2))
    }

    @Test func `Frames can be copied beside encoded ones only if they are H.264 of 8 bits in the target's form`() throws
    {
        let target = try target([SampleInput.source()])
        #expect(target.takes([SampleInput.source(), SampleInput.source("b.mp4")]))
        #expect(!target.takes([SampleInput.source(), SampleInput.source("b.mp4") { $0.video.codec = "hevc" }]))
        let deep = SampleInput.source { $0.video.is8Bit420 = false }
        #expect(target.differences(of: deep, codec: "h264") == ["its frames are not of 8 bits and 4:2:0"])
        #expect(try #require(target.whole(like: deep)).differences(of: deep, codec: "h264").isEmpty)
        // If the codec differs, only that is reported, and not also the obstacle that follows from it.
        let other = SampleInput.source { ($0.video.codec, $0.video.obstacle) = ("vp9", "it is odd") }
        #expect(target.differences(of: other, codec: "h264") == ["it is coded as vp9"])
    }
}
