// SPDX-License-Identifier: Apache-2.0

import Archive
import LibAV
import MP4
import Media
import TestSupport
import Testing

@testable import Stitcher

/// The program time at which frame `frame` of `rate` frames a second begins, rounded down.
private func moment(_ frame: Int64, per rate: Int64) -> ProgramInstant {
    ProgramInstant(nanoseconds: frame * 1_000_000_000 / rate)
}

/// A file of 30 frames a second whose keyframes are `gop` frames apart, with audio at 48 kHz that has one hidden
/// packet.
func source(
    _ name: String, number: Int64 = 0, run: String = "r", frames: Int = 60, gop: Int = 30, bFrames: Bool = true,
    startsAt frame: Int64 = 0, audioFrom packet: Int64 = 0
) -> StitchSource {
    var video: [IndexedSample] = []
    func add(_ number: Int, _ isSync: Bool) {
        let place = Int64(video.count)
        video.append(
            IndexedSample(
                dts: place * 100, pts: Int64(number), duration: 100, offset: 100 + place * 20, size: 10, isSync: isSync)
        )
    }
    for start in stride(from: 0, to: frames, by: gop) {
        add(start, true)
        let end = min(start + gop, frames)
        var next = start + 1
        while next < end {
            if bFrames, next + 2 < end {
                for shift in [2, 0, 1] { add(next + shift, false) }
                next += 3
            } else {
                add(next, false)
                next += 1
            }
        }
    }
    // Packet 0 begins with the first frame of the first file; each file has a hidden packet before its first visible
    // one.
    let zero = frame * 1600
    let last = (zero + Int64(frames) * 1600) / 1024
    let audio = (packet - 1..<last).enumerated().map { index, number in
        IndexedSample(
            pts: number * 1024 - zero, duration: 1024, offset: 110 + Int64(index) * 20, size: 5, isSync: true)
    }
    return StitchSource(
        name: name, path: "/" + name, container: "mp4",
        video: StitchSource.Video(
            stream: 0, codec: "h264", frames: FrameFormat(width: 1280, height: 720), orientation: .upright,
            isInterlaced: false, configuration: [], timeBase: TimeBase(1, 3000), samples: video,
            times: (0..<Int64(frames)).map { $0 * 100 }, end: Int64(frames) * 100, rate: FrameRate(30),
            isConstant: false),
        audio: StitchSource.Audio(
            stream: 1, codec: "aac", format: AudioFormat(sampleRate: 48_000, channels: 2),
            timeBase: TimeBase(1, 48_000), range: packet * 1024 - zero..<last * 1024 - zero, packets: audio),
        created: 1_000_000 + frame * 100 / 3,
        position: SegmentPosition(run: run, programStart: moment(frame, per: 30), ending: .rotate))
}

/// The frames that a plan shows, in the order of time, as numbers of frames of the timeline.
private func shown(_ plan: RangePlan, _ sources: [StitchSource]) -> [Int64] {
    plan.frames.parts.flatMap { part -> [Int64] in
        let (clip, numbers) =
            switch part {
            case .copied(let clip, let range): (clip, sources[clip].video.samples[range].map { Int($0.pts) })
            case .encoded(let clip, let frames):
                (clip, frames.filter { $0 >= 0 }.map { $0 + plan.frames.clips[clip].frames.lowerBound })
            }
        return numbers.map { number in
            (place(clip, plan) + sources[clip].time(number)) / 100
        }
    }.sorted()
}

/// The place of the file of `clip` on the timeline.
private func place(_ clip: Int, _ plan: RangePlan) -> Int64 {
    plan.shown.lowerBound + (plan.frames.places?[clip] ?? .min)
}

private func encoded(_ plan: RangePlan) -> Int {
    plan.frames.parts.reduce(0) { sum, part in
        if case .encoded(_, let frames) = part { sum + frames.count } else { sum }
    }
}

/// The packets of `clip` that are copied.
private func packets(_ clip: Int, _ plan: RangePlan) -> Range<Int> {
    for case .copied(clip, let packets) in plan.audio?.spans ?? [] { return packets }
    return 0..<0
}

@Suite("Plan for a range of recordings")
struct RangePlanTests {
    @Test("A copied range begins at the keyframe before its start, and ends at the first possible cut after its end")
    func widened() throws {
        let file = source("a")
        let plan = try RangePlan([file], from: 1_000_400, to: 1_001_500, isExact: false)
        #expect(encoded(plan) == 0)
        #expect(shown(plan, [file]) == Array(0..<46))
        // Frames 43, 44 and 45 belong together: 45 is decoded before both others, and the range ends after 44.
        #expect(plan.shown == 0..<4600 && plan.wanted == 1200..<4500)
    }

    @Test("An exact range shows each of its frames once, and re-encodes at most 32 frames at its two ends")
    func exact() throws {
        let files = [source("a"), source("b", startsAt: 60, audioFrom: 93)]
        for first in stride(from: Int64(0), to: 119, by: 1) {
            for end in stride(from: first + 1, through: 120, by: 7) {
                let from = 1_000_000 + (first * 100 + 2) / 3
                let to = 1_000_000 + end * 100 / 3
                let used = files.filter { $0.start < to && $0.endTime > from }
                let plan = try RangePlan(used, from: from, to: to, isExact: true)
                let skipped: Int64 = used[0].name == "a" ? 0 : 60
                #expect(shown(plan, used).map { $0 + skipped } == Array(first..<end), "\(first)..<\(end)")
                // At most the rest of a GOP is re-encoded at the start, and two frames and their keyframe at the end.
                #expect(encoded(plan) <= 29 + 3, "\(first)..<\(end): \(plan.frames.parts)")
                if first % 30 == 0, end % 30 == 0 { #expect(encoded(plan) == 0) }
            }
        }
    }

    @Test(
        "A range in program time contains the frames that begin in it, even between whole frame times",
        arguments: [0, 5, 20, 31])
    func phase(milliseconds: Int64) throws {
        var file = source("a")
        file.position?.programStart = .zero + .milliseconds(milliseconds)
        for first in Int64(1)..<40 {
            let times = moment(first, per: 30)..<moment(first + 10, per: 30)
            let plan = try RangePlan(
                [file], from: 1_000_000 + first * 100 / 3, to: 1_000_000 + (first + 10) * 100 / 3, isExact: true,
                program: times)
            #expect(shown(plan, [file]) == Array(first..<first + 10), "\(first)")
        }
    }

    @Test("Program times that were truncated to milliseconds select the same frames as exact times")
    func truncated() throws {
        var file = source("a", bFrames: false)
        (file.video.timeBase, file.video.rate) = (.milliseconds, FrameRate(1000, 16))
        file.video.times = (0..<60).map { $0 * 1000 / 60 }
        file.video.end = 1000
        for first in Int64(1)..<50 {
            let times = moment(first, per: 60)..<moment(first + 10, per: 60)
            let plan = try RangePlan([file], from: 1_000_000, to: 1_001_000, isExact: true, program: times)
            let (low, high) = (first * 1000 / 60, (first + 9) * 1000 / 60)
            #expect(plan.shown == low..<high + 16, "\(first)")
        }
        #expect(file.hasFrame(within: 0..<20_000_000) && !file.hasFrame(within: 1_000_000_000..<1_100_000_000))
    }

    @Test("Where two files join, each audio packet is copied once, without the second file's hidden packet")
    func audioAtJoins() throws {
        let files = [source("a"), source("b", startsAt: 60, audioFrom: 93), source("c", startsAt: 120, audioFrom: 187)]
        let plan = try RangePlan(files, from: 1_000_500, to: 1_007_000, isExact: true)
        var begins: [Int64] = []
        let audio = try #require(plan.audio)
        for index in files.indices {
            begins += files[index].packets[packets(index, plan)].map { audio.clips[index].shift + $0.pts }
        }
        #expect(zip(begins, begins.dropFirst()).allSatisfy { $1 - $0 == 1024 })
        // The copied audio begins one packet before the one that is played at 500 ms.
        let preRoll: Int64 = (24_000 / 1024 - 1) * 1024
        #expect(begins.first == preRoll - 24_000)
        #expect(plan.gaps == [ClipGap(from: 1_006_000, to: 1_007_000)] && plan.wanted.upperBound == 180 * 100)
    }

    @Test("A gap between files keeps its length in video and audio, and is listed in the plan")
    func gap() throws {
        let files = [source("a"), source("b", startsAt: 90, audioFrom: 141)]
        let plan = try RangePlan(files, from: 1_000_000, to: 1_005_000, isExact: false)
        #expect(plan.gaps == [ClipGap(from: 1_002_000, to: 1_003_000)])
        #expect(plan.frames.places == [0, 9000] && plan.audio?.clips.map(\.shift) == [0, 144_000])
        #expect(packets(1, plan).lowerBound == 0, "the hidden packet lies in the gap, and the next one needs it")
    }

    @Test("A single frame is re-encoded with a hidden frame before it, so that no two keyframes meet")
    func headOfOneFrame() throws {
        let files = [source("a"), source("b", startsAt: 60, audioFrom: 93)]
        for (first, next) in [
            (29, StitchPlan.Part.copied(clip: 0, samples: 30..<60)), (59, .copied(clip: 1, samples: 0..<60)),
        ] {
            let from = 1_000_000 + (Int64(first) * 100 + 2) / 3
            let plan = try RangePlan(files, from: from, to: 1_004_000, isExact: true)
            #expect(plan.frames.hidden == 1 && plan.frames.parts[1] == next)
            #expect(plan.frames.parts[0] == .encoded(clip: 0, frames: -1..<1))
            #expect(plan.shown.lowerBound == Int64(first) * 100)
            #expect(shown(plan, files) == Array(Int64(first)..<120))
        }
        // There is no hidden frame if no frame follows, or if more than one frame is re-encoded.
        #expect(try RangePlan([files[0]], from: 1_000_967, to: 1_001_000, isExact: true).frames.hidden == 0)
        #expect(try RangePlan(files, from: 1_000_934, to: 1_004_000, isExact: true).frames.hidden == 0)
    }

    @Test("A gap that is too long for a file's sample tables is refused with the names of both files")
    func longGap() throws {
        let hour: Int64 = 30 * 3600
        let near = source("b", startsAt: 24 * hour)
        #expect(try RangePlan([source("a"), near], from: 1_000_000, to: 200_000_000, isExact: false).gaps.count == 2)
        let far = source("b", startsAt: 25 * hour)
        let error = #expect(throws: ClipFailure.self) {
            try RangePlan([source("a"), far], from: 1_000_000, to: 200_000_000, isExact: false)
        }
        #expect(error?.description == "More than 24 hours lie between a and b; export them separately.")
    }

    @Test("A range without recordings is refused, and files that overlap are refused with their names")
    func refused() {
        #expect(throws: ClipFailure.self) { try RangePlan([], from: 0, to: 1, isExact: false) }
        let error = #expect(throws: ClipFailure.self) {
            try RangePlan([source("a"), source("b", startsAt: 30)], from: 1_000_000, to: 1_002_000, isExact: false)
        }
        #expect(error?.description.contains("b repeats a part of a") == true)
    }

    @Test("In an exported range each frame keeps its presentation time, and decoding times increase")
    func times() throws {
        var files = [source("a"), source("b", startsAt: 90, audioFrom: 141)]
        // The first source does not keep its frame rate.
        files[0].video.times = files[0].video.times.enumerated().map { $1 + Int64($0 % 3) * 10 }
        for isExact in [false, true] {
            let plan = try RangePlan(files, from: 1_000_400, to: 1_005_000, isExact: isExact)
            var frames: [IndexedSample] = []
            for part in plan.frames.parts {
                switch part {
                case .copied(let clip, let range):
                    let clip = plan.frames.clips[clip]
                    frames += files[clip.source].video.samples[range].map { sample in
                        var sample = sample
                        sample.pts += Int64(clip.place - clip.frames.lowerBound)
                        return sample
                    }
                case .encoded(let clip, let range):
                    frames += range.map {
                        IndexedSample(
                            pts: Int64(plan.frames.clips[clip].place + $0), duration: 0, offset: 0, size: 1,
                            isSync: false)
                    }
                }
            }
            let track = try plan.frames.track(of: frames, files, timescale: 3000, moves: [])
            let all = files[0].video.times + files[1].video.times.map { $0 + 9000 }
            let expected = all.filter { plan.shown.contains($0) }.map { $0 - plan.shown.lowerBound }
            #expect(track.samples.map(\.pts).sorted() == expected && track.start == 0)
            #expect(track.samples.allSatisfy { $0.dts <= $0.pts })
            #expect(zip(track.samples, track.samples.dropFirst()).allSatisfy { $0.dts < $1.dts })
        }
    }

    @Test("The byte ranges to copy contain only the requested samples")
    func runs() {
        let file = source("a", bFrames: false)
        func runs(_ frames: Range<Int>, _ audio: Range<Int>) -> [CopyRuns.Run] {
            CopyRuns(file.video.samples, file.packets, frames: frames, audio: audio).runs
        }
        #expect(
            runs(0..<60, file.packets.indices).allSatisfy { run in
                let sizes = run.frames.count * 10 + run.audio.count * 5
                return run.bytes.count == sizes
            })
        for run in runs(10..<20, 12..<18) {
            for (index, sample) in file.video.samples.enumerated() where run.bytes.contains(sample.offset) {
                #expect((10..<20).contains(index))
            }
            for (index, sample) in file.packets.enumerated() where run.bytes.contains(sample.offset) {
                #expect((12..<18).contains(index))
            }
        }
        #expect(runs(10..<20, 12..<18).flatMap { Array($0.frames) } == Array(10..<20))
        #expect(runs(10..<20, 12..<18).flatMap { Array($0.audio) } == Array(12..<18))
    }
}
