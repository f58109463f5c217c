// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Segmenter

/// The packets that the cutter put into one file.
private struct CutFile {
    var start: SegmentStart
    var frames: [Int64] = []
    var audio: [Int64] = []
    var bytes = 0

    /// The range of visible audio samples.
    var visible: Range<Int64> { (start.firstAudio?.pts ?? 0)..<((audio.last ?? 0) + 1024) }
}

private func cut(_ packets: [EncodedPacket], _ length: SegmentLength, rate: FrameRate) -> (
    files: [CutFile], requests: [ProgramInstant?]
) {
    var cutter = SegmentCutter(length: length, stream: description(rate: rate))
    var files: [CutFile] = []
    var requests: [ProgramInstant?] = []
    for action in packets.flatMap({ cutter.push($0) }) + cutter.finish() {
        switch action {
        case .open(let start): files.append(CutFile(start: start))
        case .write(let packet):
            if packet.track == .video {
                files[files.count - 1].frames.append(packet.pts)
            } else {
                files[files.count - 1].audio.append(packet.pts)
            }
            files[files.count - 1].bytes += packet.payload.count
        case .request(let time): requests.append(time)
        case .skip, .close: break
        }
    }
    return (files, requests)
}

private let rates = [FrameRate(30), FrameRate(25), FrameRate(30000, 1001)]

@Suite struct CutterTests {
    @Test(arguments: rates)
    func `Each of 100 cuts is at the first frame at or after its requested time`(rate: FrameRate) {
        let boundaries = (0..<101).map { rate.frames(atLeast: .seconds(10 * $0)) }
        let packets = syntheticProgram(rate: rate, frames: boundaries[100] + 50) { frame in
            boundaries.contains(frame) || frame % 250 == 249
        }
        let (files, requests) = cut(packets, .duration(.seconds(10)), rate: rate)
        #expect(files.map { $0.start.keyframe.pts } == boundaries)
        #expect(files.flatMap(\.frames) == Array(0..<boundaries[100] + 50))
        #expect(requests.count == 101, "one request for each boundary")
        let times = (1...100).map { ProgramInstant.zero + .seconds(10 * $0) }
        #expect(Array(requests.compactMap { $0 }.prefix(100)) == times)
    }

    @Test(arguments: [20, 48, 49])
    func `If the first audio begins slightly before the first frame, the recording still begins with both`(
        samples: Int64
    ) {
        let packets = syntheticProgram(rate: FrameRate(25), frames: 100) { $0 % 50 == 0 }.map { packet in
            guard packet.track == .audio else { return packet }
            return EncodedPacket(
                of: packet.description, pts: packet.pts - samples, dts: packet.dts - samples, duration: packet.duration,
                isKeyframe: true, payload: packet.payload)
        }
        let (files, _) = cut(packets, .duration(.seconds(2)), rate: FrameRate(25))
        let first: Int64 = samples <= 48 ? 0 : 1
        #expect(files.count == 2 && files[0].start.firstAudio?.pts == first * 1024 - samples)
        #expect(files[0].audio.first == (first - 1) * 1024 - samples)
        // Between two files the audio is continuous.
        #expect(files[1].visible.lowerBound == files[0].visible.upperBound)
        #expect((96_000..<97_024).contains(files[1].visible.lowerBound))
    }

    @Test(arguments: rates) func `With 100 cuts, every audio sample is audible in exactly one file`(rate: FrameRate) {
        let packets = syntheticProgram(rate: rate, frames: rate.frames(atLeast: .seconds(205))) { frame in
            (0..<103).contains { rate.frames(atLeast: .seconds(2 * $0)) == frame }
        }
        let (files, _) = cut(packets, .duration(.seconds(2)), rate: rate)
        #expect(files.count == 103)
        var end: Int64 = 0
        for file in files {
            #expect(file.visible.lowerBound == end)
            #expect(file.audio.first == end - 1024, "one hidden packet in front")
            let begin = rate.timeBase.rescale(file.start.keyframe.pts, to: TimeBase(1, 48_000), rounding: .up)
            #expect((begin..<begin + 1024).contains(end))
            #expect(zip(file.audio, file.audio.dropFirst()).allSatisfy { $1 - $0 == 1024 })
            end = file.visible.upperBound
        }
        #expect(end == packets.last { $0.track == .audio }.map { $0.pts + 1024 })
    }

    @Test func `If a keyframe is missing, one cut is late, and the other cuts stay at their times`() {
        let rate = FrameRate(25)
        let packets = syntheticProgram(rate: rate, frames: 1000) { $0 % 100 == 0 && $0 != 500 || $0 == 530 }
        let (files, _) = cut(packets, .duration(.seconds(10)), rate: rate)
        #expect(files.map { $0.start.keyframe.pts } == [0, 300, 530, 800])
        #expect(files.flatMap(\.frames) == Array(0..<1000))
    }

    @Test func `A file does not exceed its limit in bytes, and a keyframe is requested in time`() {
        let rate = FrameRate(30)
        let packets = syntheticProgram(rate: rate, frames: 6000, isKeyframe: { $0 % 60 == 0 }, size: 5000)
        let (files, requests) = cut(packets, .bytes(2_000_000), rate: rate)
        #expect(files.count > 10)
        #expect(files.allSatisfy { $0.bytes <= 2_000_000 })
        #expect(files.dropLast().allSatisfy { $0.bytes > 1_200_000 })
        #expect(requests.contains { $0 == nil })
        #expect(files.flatMap(\.frames) == Array(0..<6000))
    }

    @Test func `A cut on demand is at the next keyframe, and later cuts stay at their times`() {
        let rate = FrameRate(25)
        var cutter = SegmentCutter(length: .duration(.seconds(10)), stream: description(rate: rate))
        let packets = syntheticProgram(rate: rate, frames: 1000) { $0 % 50 == 0 }
        var starts: [Int64] = []
        for packet in packets {
            if packet.track == .video, packet.pts == 330 {
                #expect(cutter.cutNow().contains { if case .request(nil) = $0 { true } else { false } })
            }
            for case .open(let start) in cutter.push(packet) { starts.append(start.keyframe.pts) }
        }
        #expect(starts == [0, 250, 350, 500, 750])
    }

    @Test func `A cut on demand has no effect while nothing is recorded`() {
        var cutter = SegmentCutter(length: .duration(.seconds(10)), stream: description(rate: FrameRate(25)))
        #expect(cutter.cutNow().isEmpty)
    }

    @Test func `A late keyframe delays a cut, and the next file records how late it is`() {
        let rate = FrameRate(25)
        let packets = syntheticProgram(rate: rate, frames: 1000) { [0, 250, 620].contains($0) }
        let (files, _) = cut(packets, .duration(.seconds(10)), rate: rate)
        #expect(files.map(\.start.keyframe.pts) == [0, 250, 620])
        #expect(files.map(\.start.lateness) == [.zero, .zero, .milliseconds(4800)])
    }

    @Test func `A keyframe is requested before the encoder reaches each cut`() {
        let rate = FrameRate(30)
        let packets = syntheticProgram(rate: rate, frames: 40) { $0 == 0 }
        let (_, requests) = cut(packets, .duration(.seconds(1)), rate: rate)
        #expect(requests == (1...4).map { .zero + .seconds($0) })
    }

    @Test func `A frame is written without waiting forever for audio that never arrives`() {
        let rate = FrameRate(30)
        let packets = (0..<300).map { videoPacket($0, rate: rate, isKeyframe: $0 % 30 == 0) }
        let (files, _) = cut(packets, .duration(.seconds(5)), rate: rate)
        #expect(files.flatMap(\.frames) == Array(0..<300))
    }

    @Test func `After an interruption recording continues at a keyframe, preceded by a hidden audio packet`() {
        let rate = FrameRate(25)
        var cutter = SegmentCutter(length: .duration(.seconds(100)), stream: description(rate: rate))
        let packets = syntheticProgram(rate: rate, frames: 200) { $0 % 50 == 0 }
        var starts: [SegmentStart] = []
        for (index, packet) in packets.enumerated() {
            if index == packets.count / 2 {
                #expect(cutter.interrupt().contains { if case .close = $0 { true } else { false } })
            }
            for case .open(let start) in cutter.push(packet) { starts.append(start) }
        }
        #expect(starts.map(\.keyframe.pts) == [0, 150])
        #expect(starts.last?.preRoll?.pts == starts.last?.firstAudio.map { $0.pts - 1024 })
    }
}
