// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import Segmenter

@Suite("Cuts of a recording of copied packets")
struct CopiedCutterTests {
    private struct File {
        var start: SegmentStart
        var frames: [Int64] = []
        var audio: [Int64] = []
    }

    private static func seconds(_ count: Int64) -> ProgramInstant { .zero + .seconds(count) }
    private let rate = FrameRate(25)

    private func cut(_ packets: [EncodedPacket], at cuts: [ProgramInstant], from begin: ProgramInstant = 0) -> [File] {
        var cutter = CopiedCutter()
        cutter.wait(until: begin)
        for cut in cuts { cutter.cut(at: cut) }
        var files: [File] = []
        for action in packets.flatMap({ cutter.push($0) }) + cutter.finish() {
            switch action {
            case .open(let start): files.append(File(start: start))
            case .write(let packet):
                guard !files.isEmpty else { continue }
                if packet.track == .video {
                    files[files.count - 1].frames.append(packet.pts)
                } else {
                    files[files.count - 1].audio.append(packet.pts)
                }
            case .request, .skip, .close: break
            }
        }
        return files
    }

    /// Returns the audio packets that are in no file.
    private func lost(_ packets: [EncodedPacket], _ files: [File]) -> [Int64] {
        let kept = Set(files.flatMap(\.audio))
        return packets.filter { $0.track == .audio && !kept.contains($0.pts) }.map(\.pts)
    }

    @Test(
        "If no frame follows a cut, a copied recording's previous file gets the audio until the next keyframe",
        arguments: [false, true])
    func audioAlone(comesBack: Bool) throws {
        let all = program(250)
        let packets = all.filter { $0.track == .audio || $0.pts < 45 || comesBack && $0.pts >= 200 }
        let files = cut(packets, at: [Self.seconds(2)])
        #expect(files.count == (comesBack ? 2 : 1))
        #expect(lost(packets.filter { $0.programPts > 0 }, files).isEmpty, "\(lost(packets, files))")
        if comesBack { #expect(files[1].start.time == Self.seconds(8)) }
    }

    @Test("If no keyframe arrives at a cut, a copied recording's open file continues even when the buffer is full")
    func endless() throws {
        // At 300 kB per frame, 192 MiB are reached after 672 frames.
        let packets = syntheticProgram(rate: rate, frames: 900, isKeyframe: { $0 == 0 || $0 == 850 }, size: 300_000)
        let files = cut(packets, at: [Self.seconds(28)])
        try #require(files.count == 2)
        #expect(files[0].frames.count >= 850 && files[1].start.time == Self.seconds(34))
        #expect(Set(files.flatMap(\.frames)).count == 900)
        #expect(lost(packets.filter { $0.programPts > 0 }, files).isEmpty)
    }

    @Test("If the coding changes before the first file is open, two files are recorded, each with its own frames")
    func codedAnewAtOnce() throws {
        let next = videoTrack(rate: rate, avcC: [1, 77, 0, 30, 255, 224, 0])
        let packets = program(40, keyframes: 5).filter { $0.track == .video }.map {
            $0.pts >= 10 ? $0.recoded(as: next) : $0
        }
        let files = cut(packets, at: [])
        #expect(files.map(\.frames) == [Array(0..<10), Array(10..<40)])
    }

    private func program(_ frames: Int64, keyframes: Int64 = 10) -> [EncodedPacket] {
        syntheticProgram(rate: rate, frames: frames) { $0 % keyframes == 0 }
    }

    @Test("A copied file begins with the keyframe before its first frame, and the previous file keeps that GOP's start")
    func overlap() throws {
        let files = cut(program(100), at: [Self.seconds(1), Self.seconds(2) + .milliseconds(10)])
        #expect(files.map { $0.start.time } == [0, Self.seconds(1), Self.seconds(2)])
        #expect(files.map(\.start.keyframe.pts) == [0, 20, 50])
        #expect(files.map { $0.start.shown?.continues } == [false, true, true])
        try #require(files.count == 3)
        // Decoding is two frames ahead, so frames decoded at the cut are shown after it.
        #expect(files[0].frames == Array(0...27) && files[1].frames == Array(20...52))
        #expect(files[2].frames == Array(50..<100))
        // The audio begins with the packet before the one that is heard at the cut, and every packet is in at least one
        // file.
        #expect(files[1].start.preRoll?.pts == 45 * 1024 && files[1].start.firstAudio?.pts == 46 * 1024)
        #expect(files[1].audio.first == Int64(46_080))
        #expect(Set(files.flatMap(\.audio)).count == program(100).count { $0.track == .audio })
    }

    @Test(
        "A copied file begins with the frame nearest to its requested start",
        arguments: [(-19, 25), (19, 25), (21, 26)])
    func nearest(milliseconds: Int64, frame: Int64) {
        let files = cut(program(60), at: [Self.seconds(1) + .milliseconds(milliseconds)])
        #expect(files.map { $0.start.time } == [0, rate.start(of: FrameIndex(frame))])
    }

    @Test("The first copied file begins at its requested start within a GOP, and packets before that GOP are dropped")
    func begins() {
        let files = cut(program(60), at: [], from: Self.seconds(1))
        #expect(files.map { $0.start.time } == [Self.seconds(1)])
        #expect(files.first?.frames == Array(20..<60))
    }

    @Test("The file of a source that connects late begins at the source's first keyframe")
    func late() {
        let packets = program(80).filter { $0.programPts >= Self.seconds(1) + .milliseconds(160) }
        let files = cut(packets, at: [500_000_000, Self.seconds(2)])
        #expect(files.map { $0.start.keyframe.pts } == [30, 50])
        #expect(files.map { $0.start.time } == [Self.seconds(1) + .milliseconds(200), Self.seconds(2)])
    }

    @Test("Open-GOP frames presented before a file's first keyframe are in the previous file only")
    func openGroups() {
        // The frames are I2 B0 B1 P5 B3 B4 …, with an I frame at 12.
        let order: [Int64] = [0, 3, 1, 2, 6, 4, 5, 9, 7, 8, 12, 10, 11, 15, 13, 14, 18, 16, 17, 21, 19, 20]
        let packets = order.enumerated().map { index, pts in
            videoPacket(pts, decodedAt: Int64(index) - 1, rate: rate, isKeyframe: pts % 12 == 0)
        }
        let files = cut((-1..<41).map { audioPacket($0) } + packets, at: [560_000_000])
        #expect(files.map { $0.start.keyframe.pts } == [0, 12])
        #expect(files.last?.frames == [12, 15, 13, 14, 18, 16, 17, 21, 19, 20])
        #expect(Set(files.flatMap(\.frames)) == Set(0...21))
    }

    @Test("A change of coding begins a new file at once, with the first keyframe of the new coding")
    func recoded() {
        let other = videoTrack(rate: rate, avcC: [1, 100, 0, 40, 255, 224, 0])
        let packets = program(60).map { $0.track == .video && $0.pts >= 30 ? $0.recoded(as: other) : $0 }
        let files = cut(packets, at: [Self.seconds(2)])
        #expect(files.map { $0.start.keyframe.pts } == [0, 30, 50])
        #expect(files.dropFirst().allSatisfy { $0.start.keyframe.description === other })
    }

    /// A program whose audio arrives `late` (in milliseconds) after the frames that are shown with it.
    private func program(_ frames: Int64, late: Int64, keyframes: Int64 = 25) -> [EncodedPacket] {
        func arrival(_ packet: EncodedPacket) -> ProgramInstant {
            packet.programDts + (packet.track == .audio ? .milliseconds(late) : .zero)
        }
        return program(frames, keyframes: keyframes).sorted {
            (arrival($0), $0.track.rawValue) < (arrival($1), $1.track.rawValue)
        }
    }

    static let changes: [Int64] = [33, 46, 49, 50, 51, 60]

    @Test(
        "If audio changes its coding within a GOP, all of it is recorded, however late it comes",
        arguments: changes, [0, 100, 400, 900])
    func audioCodedAnew(change: Int64, late: Int64) {
        let other = aacTrack(asc: [0x12, 0x08])
        let packets = program(150, late: late).map {
            $0.track == .audio && $0.pts * 25 >= change * 48_000 ? $0.recoded(as: other) : $0
        }
        let files = cut(packets, at: [Self.seconds(4)])
        #expect(files.count == 3)
        #expect(lost(packets, files).isEmpty, "\(lost(packets, files))")
        #expect(Set(files.flatMap(\.frames)).count == 150)
        let wanted = rate.start(of: FrameIndex(change))
        let near = wanted - .milliseconds(40)...wanted + .milliseconds(40)
        #expect(files.dropFirst().first.map { near.contains($0.start.time) } == true)
    }

    @Test(
        "If video changes its coding, audio that comes later than the frame is recorded",
        arguments: [0, 100, 900])
    func frameCodedAnew(late: Int64) {
        let other = videoTrack(rate: rate, avcC: [1, 100, 0, 40, 255, 224, 0])
        let packets = program(150, late: late).map {
            $0.track == .video && $0.pts >= 50 ? $0.recoded(as: other) : $0
        }
        let files = cut(packets, at: [])
        #expect(files.map(\.start.time) == [0, Self.seconds(2)])
        #expect(lost(packets, files).isEmpty, "\(lost(packets, files))")
        #expect(files.map { Set($0.frames) } == [Set(0..<50), Set(50..<150)])
        // The audio before the change is in the first file.
        #expect(files.first?.audio.last.map { $0 >= 2 * 48_000 - 1024 } == true)
    }

    @Test("When recording is interrupted, frames of a new coding that are in no file yet are reported as lost")
    func interruptedChange() {
        let other = videoTrack(rate: rate, avcC: [1, 100, 0, 40, 255, 224, 0])
        var cutter = CopiedCutter()
        for packet in program(51, late: 400) {
            _ = cutter.push(packet.track == .video && packet.pts >= 50 ? packet.recoded(as: other) : packet)
        }
        let skipped = cutter.interrupt().compactMap { action -> Int64? in
            if case .skip(let packet) = action { packet.pts } else { nil }
        }
        #expect(skipped == [50])
    }
}
