// SPDX-License-Identifier: Apache-2.0

import Archive
import MP4
import Media
import Testing

@testable import Stitcher

/// A file of 30 frames a second whose keyframes are `gop` frames apart, and 48 kHz audio with one hidden packet.
func source(
    _ name: String, number: Int64 = 0, run: String = "r", frames: Int = 60, gop: Int = 30, bFrames: Bool = true,
    startsAt frame: Int64 = 0, audioFrom packet: Int64 = 0
) -> ClipSource {
    var video: [IndexedSample] = []
    var offset: Int64 = 100
    func add(_ number: Int, _ isSync: Bool) {
        video.append(
            IndexedSample(pts: Int64(number) * 100, duration: 100, offset: offset, size: 10, isSync: isSync))
        offset += 20
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
    // Packet 0 begins with the first frame of the first file; each file hides the packet before its first.
    let zero = frame * 1600
    let last = (zero + Int64(frames) * 1600) / 1024
    let audio = (packet - 1..<last).enumerated().map { index, number in
        IndexedSample(
            pts: number * 1024 - zero, duration: 1024, offset: 110 + Int64(index) * 20, size: 5, isSync: true)
    }
    return ClipSource(
        name: name, start: 1_000_000 + frame * 100 / 3,
        position: SegmentPosition(
            run: run, programStart: frame * 1_000_000_000 / 30, ending: .rotate), timescales: (3000, 48_000),
        frameDuration: 100, video: video, audio: audio, audioStart: packet * 1024 - zero)
}

/// What a plan shows, in the order of time, as numbers of frames of the timeline.
private func shown(_ plan: ClipPlan, _ sources: [ClipSource]) -> [Int64] {
    plan.parts.flatMap { part in
        let (index, samples) =
            switch part {
            case .copied(let index, let range): (index, Array(range))
            case .encoded(let index, let samples): (index, samples)
            }
        return samples.dropFirst(part == plan.parts.first ? plan.hidden : 0).map {
            (plan.places[index].video + sources[index].video[$0].pts) / 100
        }
    }.sorted()
}

private func encoded(_ plan: ClipPlan) -> Int {
    plan.parts.reduce(0) { sum, part in
        if case .encoded(_, let samples) = part { sum + samples.count } else { sum }
    }
}

@Suite("The plan of a clip")
struct ClipPlanTests {
    @Test("A copy begins with the keyframe before the range and ends at the first clean cut behind it")
    func widened() throws {
        let file = source("a")
        let plan = try ClipPlan([file], from: 1_000_400, to: 1_001_500, isExact: false)
        #expect(encoded(plan) == 0)
        #expect(shown(plan, [file]) == Array(0..<46))
        // Frames 43, 44 and 45 go together: 45 is decoded before both, and the range ends behind 44.
        #expect(plan.frames == 0..<4600 && plan.wanted == 1200..<4500)
    }

    @Test("An exact clip shows every frame of the range once, for every range, and codes as little as can be")
    func exact() throws {
        let files = [source("a"), source("b", startsAt: 60, audioFrom: 93)]
        for first in stride(from: Int64(0), to: 119, by: 1) {
            for end in stride(from: first + 1, through: 120, by: 7) {
                let from = 1_000_000 + (first * 100 + 2) / 3
                let to = 1_000_000 + end * 100 / 3
                let used = files.filter { $0.start < to && $0.end > from }
                let plan = try ClipPlan(used, from: from, to: to, isExact: true)
                let skipped: Int64 = used[0].name == "a" ? 0 : 60
                #expect(shown(plan, used).map { $0 + skipped } == Array(first..<end), "\(first)..<\(end)")
                // At most the rest of a GOP at the head, and two frames and their keyframe at the tail.
                #expect(encoded(plan) <= 29 + 3, "\(first)..<\(end): \(plan.parts)")
                if first % 30 == 0, end % 30 == 0 { #expect(encoded(plan) == 0) }
            }
        }
    }

    @Test(
        "If a program's frames are off the grid, a clip has those that begin in it", arguments: [0, 5, 20, 31])
    func phase(milliseconds: Int64) throws {
        var file = source("a")
        file.position?.programStart = milliseconds * 1_000_000
        for first in Int64(1)..<40 {
            let times = first * 1_000_000_000 / 30..<(first + 10) * 1_000_000_000 / 30
            let plan = try ClipPlan(
                [file], from: 1_000_000 + first * 100 / 3, to: 1_000_000 + (first + 10) * 100 / 3, isExact: true,
                program: times)
            #expect(shown(plan, [file]) == Array(first..<first + 10), "\(first)")
        }
    }

    @Test("Times that were cut to milliseconds move no frame into another clip")
    func truncated() throws {
        var file = source("a", bFrames: false)
        (file.videoBase, file.frameDuration) = (.milliseconds, 16)
        for index in file.video.indices { file.video[index].pts = Int64(index) * 1000 / 60 }
        file.videoEnd = 1000
        for first in Int64(1)..<50 {
            let times = first * 1_000_000_000 / 60..<(first + 10) * 1_000_000_000 / 60
            let plan = try ClipPlan([file], from: 1_000_000, to: 1_001_000, isExact: true, program: times)
            let (low, high) = (first * 1000 / 60, (first + 9) * 1000 / 60)
            #expect(plan.frames == low..<high + 16, "\(first)")
        }
        #expect(file.hasFrame(within: 0..<20_000_000) && !file.hasFrame(within: 1_000_000_000..<1_100_000_000))
    }

    @Test("At a join of files every packet of audio comes once, without the hidden one")
    func audioAtJoins() throws {
        let files = [source("a"), source("b", startsAt: 60, audioFrom: 93), source("c", startsAt: 120, audioFrom: 187)]
        let plan = try ClipPlan(files, from: 1_000_500, to: 1_007_000, isExact: true)
        var begins: [Int64] = []
        for (index, range) in plan.audio.enumerated() {
            begins += files[index].audio[range].map { plan.places[index].audio + $0.pts }
        }
        #expect(zip(begins, begins.dropFirst()).allSatisfy { $1 - $0 == 1024 })
        // One packet of pre-roll before the one that is heard at 500 ms.
        let preRoll: Int64 = (24_000 / 1024 - 1) * 1024
        #expect(begins.first == preRoll)
        #expect(plan.gaps == [ClipGap(from: 1_006_000, to: 1_007_000)] && plan.wanted.upperBound == 180 * 100)
    }

    @Test("A gap keeps its length in time, video and audio, and is told")
    func gap() throws {
        let files = [source("a"), source("b", startsAt: 90, audioFrom: 141)]
        let plan = try ClipPlan(files, from: 1_000_000, to: 1_005_000, isExact: false)
        #expect(plan.gaps == [ClipGap(from: 1_002_000, to: 1_003_000)])
        #expect(plan.places == [.init(video: 0, audio: 0), .init(video: 9000, audio: 144_000)])
        #expect(plan.audio[1].lowerBound == 0, "the hidden packet lies in the gap, and the next one needs it")
    }

    @Test("A head of one frame is coded with the one before it, hidden, so that no two coders' keyframes meet")
    func headOfOneFrame() throws {
        let files = [source("a"), source("b", startsAt: 60, audioFrom: 93)]
        for (first, next) in [
            (29, ClipPlan.Part.copied(source: 0, samples: 30..<60)), (59, .copied(source: 1, samples: 0..<60)),
        ] {
            let from = 1_000_000 + (Int64(first) * 100 + 2) / 3
            let plan = try ClipPlan(files, from: from, to: 1_004_000, isExact: true)
            let samples = files[0].video.indices.filter {
                [first - 1, first].contains(Int(files[0].video[$0].pts) / 100)
            }
            #expect(plan.hidden == 1 && plan.parts[1] == next)
            #expect(plan.parts[0] == .encoded(source: 0, samples: samples))
            #expect(plan.frames.lowerBound == Int64(first) * 100)
            #expect(shown(plan, files) == Array(Int64(first)..<120))
        }
        // Nothing follows, or more than one frame is coded.
        #expect(try ClipPlan([files[0]], from: 1_000_967, to: 1_001_000, isExact: true).hidden == 0)
        #expect(try ClipPlan(files, from: 1_000_934, to: 1_004_000, isExact: true).hidden == 0)
    }

    @Test("A gap that no table can hold is refused with the names of both files")
    func longGap() throws {
        let hour: Int64 = 30 * 3600
        let near = source("b", startsAt: 24 * hour)
        #expect(try ClipPlan([source("a"), near], from: 1_000_000, to: 200_000_000, isExact: false).gaps.count == 2)
        let far = source("b", startsAt: 25 * hour)
        let error = #expect(throws: ClipFailure.self) {
            try ClipPlan([source("a"), far], from: 1_000_000, to: 200_000_000, isExact: false)
        }
        #expect(error?.description == "More than 24 hours lie between a and b; export them separately.")
    }

    @Test("What lies outside of all files, or twice in them, is refused with the file's name")
    func refused() {
        #expect(throws: ClipFailure.self) { try ClipPlan([], from: 0, to: 1, isExact: false) }
        let error = #expect(throws: ClipFailure.self) {
            try ClipPlan([source("a"), source("b", startsAt: 30)], from: 1_000_000, to: 1_002_000, isExact: false)
        }
        #expect(error?.description.contains("b repeats a part of a") == true)
    }

    @Test("Bytes are copied in runs that hold nothing of what is left out")
    func runs() {
        let file = source("a", bFrames: false)
        let whole = CopyRuns(file, frames: 0..<60, audio: file.audio.indices).runs
        #expect(whole.count == 1)
        let runs = CopyRuns(file, frames: 10..<20, audio: 12..<18).runs
        for run in runs {
            for (index, sample) in file.video.enumerated() where run.bytes.contains(sample.offset) {
                #expect((10..<20).contains(index))
            }
            for (index, sample) in file.audio.enumerated() where run.bytes.contains(sample.offset) {
                #expect((12..<18).contains(index))
            }
        }
        #expect(runs.flatMap { Array($0.frames) } == Array(10..<20))
        #expect(runs.flatMap { Array($0.audio) } == Array(12..<18))
    }
}
