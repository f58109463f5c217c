// SPDX-License-Identifier: Apache-2.0

import MP4
import Media
import Testing

@testable import Stitcher

@Suite struct AudioGridTests {
    /// A file of this duration with packets from `start` on; the first packet is the encoder's priming.
    private func source(_ name: String, seconds: Int, start: Int64 = -1024) -> StitchSource {
        SampleInput.source(name, count: seconds * 30) { source in
            let count = (Int64(seconds) * 48_000 - start + 1023) / 1024
            source.audio?.packets = (0..<count).map {
                IndexedSample(pts: start + $0 * 1024, duration: 1024, offset: $0 * 400, size: 400, isSync: true)
            }
        }
    }

    private func plan(
        _ sources: [StitchSource], _ clips: [StitchClip]? = nil, _ mode: StitchAudio = .automatic,
        isLong: @escaping (Int) -> Bool = { _ in true }
    ) throws -> AudioPlan {
        let clips = clips ?? sources.map { StitchClip(path: $0.name) }
        let plan = try StitchPlan(clips, of: sources, StitchSettings())
        return try #require(
            AudioPlan(plan, clips, sources, mode) { _, packet in
                AACWindow([0x21, isLong(packet) ? 0x10 : 0x40, 0])
            })
    }

    /// Returns the start of each span and the end of the last one. Checks that there is no gap between spans.
    private func edges(_ plan: AudioPlan, _ sources: [StitchSource]) throws -> [Int64] {
        var edges: [Int64] = []
        for span in plan.spans {
            let range: Range<Int64>
            switch span {
            case .encoded(let samples): range = samples
            case .copied(let clip, let packets):
                let all = try #require(sources[clip].audio?.packets)
                let begin = all[packets.lowerBound].pts + plan.clips[clip].shift
                range = begin..<begin + Int64(packets.count) * 1024
                // The packet that is joined to new ones contains only samples of this clip.
                if let fade = plan.clips[clip].fadeIn { #expect(fade.range.upperBound <= range.lowerBound) }
                if let fade = plan.clips[clip].fadeOut { #expect(fade.range.lowerBound >= range.upperBound + 1024) }
            }
            #expect(edges.isEmpty || edges.last == range.lowerBound)
            edges = edges.dropLast() + [range.lowerBound, range.upperBound]
        }
        return edges
    }

    @Test func `The audio of a single clip is copied, together with the packet before its range`() throws {
        let file = source("a.mp4", seconds: 10)
        let whole = try plan([file])
        #expect(whole.spans == [.copied(clip: 0, packets: 0..<470)] && whole.moves == [0])
        let part = try plan([file], [StitchClip(path: "a.mp4", from: .seconds(2), to: .seconds(4))])
        // Sample 96000 is in packet 94, which needs 93 for decoding; sample 192000 is in packet 188.
        #expect(part.spans == [.copied(clip: 0, packets: 93..<189)])
    }

    @Test
    func `If two clips' audio packets line up, audio is copied except at the join, and no frame is moved`() throws {
        // 32 s are 1500 packets.
        let sources = [source("a.mp4", seconds: 32), source("b.mp4", seconds: 5)]
        let found = try plan(sources)
        #expect(found.moves == [0, 0] && found.spans.count == 3)
        let edges = try edges(found, sources)
        #expect(edges[0] == -1024 && edges[2] - edges[1] < 12 * 1024 && edges[3] >= found.count)
        #expect(edges[1] < 32 * 48_000 && edges[2] > 32 * 48_000)
    }

    @Test func `If short clips' audio packets do not line up, their audio is re-encoded`() throws {
        let sources = [source("a.mp4", seconds: 30), source("b.mp4", seconds: 5), source("c.mp4", seconds: 90)]
        let found = try plan(sources)
        // The packets of the longest clip are not moved; the others follow its grid.
        #expect(found.moves == [0, 0, 0] && found.spans.count == 2)
        #expect(try edges(found, sources).count == 3)
        let none = try plan(sources, nil, .encode)
        #expect(none.spans.count == 1 && none.moves == [0, 0, 0])
    }

    @Test func `If long clips' audio packets do not line up, the clips are moved by at most half a packet`() throws {
        let sources = (0..<4).map { source("\($0).mp4", seconds: 61) }
        let found = try plan(sources)
        #expect(found.spans.count == 7)
        // 61 s are 384 samples more than an integer number of packets: each clip is 384 samples earlier, or 640 later,
        // than the grid.
        #expect(found.moves == [0, -384, -768, -1152])
        for (clip, move) in found.moves.enumerated() {
            #expect(found.clips[clip].shift == Int64(clip) * 61 * 48_000 + move)
        }
        #expect(found.count == 4 * 61 * 48_000 - 1152)
        _ = try edges(found, sources)
        let short = try plan([source("a.mp4", seconds: 3), source("b.mp4", seconds: 3)], nil, .copy)
        #expect(short.moves == [0, 384] && short.spans.count == 3)
    }

    @Test func `Two consecutive clips of one file are copied as one run of audio packets`() throws {
        let file = source("a.mp4", seconds: 10)
        let clips = [
            StitchClip(path: "a.mp4", from: .seconds(1), to: .seconds(1.5)),
            StitchClip(path: "a.mp4", from: .seconds(1.5), to: .seconds(3)),
        ]
        let found = try plan([file, file], clips)
        #expect(found.spans == [.copied(clip: 0, packets: 46..<72), .copied(clip: 1, packets: 72..<142)])
    }

    @Test func `Audio of a clip is re-encoded if copying cannot begin at any of its packets`() throws {
        let sources = [source("a.mp4", seconds: 32), source("b.mp4", seconds: 32)]
        let found = try plan(sources, isLong: { _ in false })
        #expect(found.spans.count == 1)
        // Each clip's copied packets end earlier or begin later, because a seam must not be next to a short window.
        let some = try plan(sources, isLong: { $0 % 5 != 0 })
        for case .copied(let clip, let packets) in some.spans {
            if clip == 0 { #expect(packets.upperBound % 5 > 1) } else { #expect(packets.lowerBound % 5 > 1) }
        }
        #expect(some.spans.count == 3)
    }

    @Test func `The packets of the first clip that is long enough are not moved, and determine the grid`() {
        func piece(seconds: Int64, at place: Int64, firstPacket: Int64) -> AudioGrid.Piece {
            let length = seconds * 48_000
            let packets = (0..<(length - firstPacket + 1023) / 1024).map {
                IndexedSample(
                    pts: firstPacket + $0 * 1024, duration: 1024, offset: $0 * 400, size: 400, isSync: true)
            }
            return AudioGrid.Piece(
                range: place..<place + length, shift: place, lead: 0, available: 0..<length, packets: packets)
        }
        func grid(_ mode: StitchAudio) -> AudioGrid {
            let pieces = [
                piece(seconds: 10, at: 0, firstPacket: -500), piece(seconds: 120, at: 480_000, firstPacket: -1024),
            ]
            return AudioGrid(
                pieces, .init(mode: mode, rate: 48_000, frame: 1600, margin: 1824, isSeam: { _, _ in true }))
        }
        // A clip of ten seconds is too short for its frames to be moved, so the packets of the clip of two minutes
        // determine the grid. That clip begins at sample 480000, which is 768 samples after the beginning of a packet.
        let automatic = grid(.automatic)
        #expect(automatic.phase == 768 && automatic.moves == [0, 0] && automatic.shifts == [0, 480_000])
        #expect(automatic.copies[0] == nil && automatic.copies[1] != nil)
        #expect(automatic.reasons[0] == "its packets do not fit those that are copied")
        // If all packets are to be copied, the second clip is moved to the grid of the first one.
        let copied = grid(.copy)
        #expect(copied.phase == 524 && copied.moves == [0, -244] && copied.shifts == [0, 479_756])
        #expect(copied.copies[0]?.lowerBound == 0 && copied.copies[1] != nil)
        let encoded = grid(.encode)
        #expect(encoded.copies == [nil, nil] && encoded.moves == [0, 0] && encoded.phase == 0)
    }

    @Test func `The AAC window types of a single channel and of a channel pair are parsed`() {
        // A pair with a common window: 001 0000 1, then 0, long, Kaiser.
        #expect(AACWindow([0x21, 0x10, 0]).map { $0.isLong && $0.isKaiser } == true)
        // A pair with eight short sine windows.
        #expect(AACWindow([0x21, 0x40, 0]).map { !$0.isLong && !$0.isKaiser } == true)
        // One channel: 000 0000, a gain, 0, long, Kaiser.
        #expect(AACWindow([0x01, 0x00, 0x20]).map { $0.isLong && $0.isKaiser } == true)
        #expect(AACWindow([0x00, 0x00, 0x80]).map { $0.isLong } == false)
        // A pair with two different windows, a fill element, and too few bytes.
        #expect(AACWindow([0x20, 0x10, 0]) == nil && AACWindow([0xC0, 0, 0]) == nil && AACWindow([0x21]) == nil)
    }

    @Test func `The stitch plan gives the reason why audio that could be copied is re-encoded`() throws {
        let files = [source("a.mp4", seconds: 10), source("b.mp4", seconds: 10, start: -512)]
        let part = StitchClip(path: "a.mp4", to: .seconds(5))
        let apart = try plan(files, [part, StitchClip(path: "b.mp4", from: .seconds(2), to: .seconds(4))])
        #expect(apart.reasons[0] == nil && apart.reasons[1] == "its packets do not fit those that are copied")
        let short = try plan(files, [part, StitchClip(path: "b.mp4", to: .milliseconds(500))], .copy)
        #expect(short.reasons[1] == "it is shorter than a second")
        let seamless = try plan(files, [part, StitchClip(path: "b.mp4", from: .seconds(2), to: .seconds(4))], .copy) {
            $0 < 20
        }
        #expect(seamless.reasons[1] == "at its ends no two long windows lie beside each other")
    }
}
