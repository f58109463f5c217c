// SPDX-License-Identifier: Apache-2.0

import Foundation
import LibAV
import MP4
import Media
import TestSupport
import Testing

@testable import Stitcher

@Suite struct AudioSeamTests {
    private static let format = AudioFormat(sampleRate: 48_000, channels: 2)

    /// A quiet tone of 5 s, with a loud attack at each position of `bangs`.
    private func tone(bangs: [Int]) -> AudioBuffer {
        var samples = (0..<240_000).map { Float(0.02 * sin(2 * .pi * 440 * Double($0) / 48_000)) }
        var state: UInt32 = 1
        for bang in bangs {
            for place in 0..<480 {
                state = state &* 1_664_525 &+ 1_013_904_223
                samples[bang + place] += 0.8 * (Float(state >> 8) / Float(1 << 23) - 1) * (1 - Float(place) / 480)
            }
        }
        return AudioBuffer(position: 0, format: Self.format, channels: [samples, samples])
    }

    /// A file that contains only `audio`, in contiguous packets.
    private func source(_ audio: AudioBuffer, in directory: TemporaryDirectory) throws -> StitchSource {
        let encoder = try AACEncoder(format: Self.format, bitrate: 160_000)
        let coded = try encoder.encode(audio) + encoder.finish()
        var (bytes, packets): (Data, [IndexedSample]) = (Data(), [])
        for packet in coded {
            packets.append(
                IndexedSample(
                    pts: packet.pts, duration: 1024, offset: Int64(bytes.count), size: Int64(packet.payload.count),
                    isSync: true))
            bytes.append(contentsOf: packet.payload.array)
        }
        let path = "\(directory.path)/a.mp4"
        try bytes.write(to: URL(fileURLWithPath: path))
        return SampleInput.source("a.mp4", count: 150) { source in
            source.path = path
            source.audio?.configuration = encoder.description.decoderConfiguration.array
            source.audio?.packets = packets
        }
    }

    /// The audio plan of two clips of one file: its first two seconds, and two seconds from 2.5 s on. All windows of
    /// the file are assumed to be long.
    private func plan(_ source: StitchSource, isTried: Bool) throws -> AudioPlan {
        let clips = [
            StitchClip(path: "a.mp4", to: .seconds(2)),
            StitchClip(path: "a.mp4", from: .milliseconds(2500), to: .milliseconds(4500)),
        ]
        let plan = try StitchPlan(clips, of: [source, source], StitchSettings())
        func make(_ torn: Set<AudioSeam>) -> AudioPlan? {
            AudioPlan(plan, clips, [source, source], .copy, torn: torn) { _, _ in AACWindow([0x21, 0x10, 0]) }
        }
        guard isTried else { return try #require(make([])) }
        return try #require(try trial(source).tried(make, isCancelled: { false }))
    }

    private func trial(_ source: StitchSource) -> AudioSeamTrial {
        AudioSeamTrial(format: Self.format, sources: [source, source], bitrate: 160_000)
    }

    private func copied(_ plan: AudioPlan) -> [Range<Int>] {
        plan.spans.compactMap { if case .copied(_, let packets) = $0 { packets } else { nil } }
    }

    @Test func `If the re-encoded audio before a copied packet has short AAC windows, copying starts later`() throws {
        let directory = try TemporaryDirectory()
        // The second clip's first seam would be in front of packet 120, whose first sample is 121856; the attack is in
        // packet 119.
        let source = try source(tone(bangs: [122_000]), in: directory)
        let blind = try plan(source, isTried: false)
        #expect(copied(blind).map(\.lowerBound) == [0, 120])
        #expect(try trial(source).torn(blind, isCancelled: { false }) == [AudioSeam(clip: 1, packet: 120)])
        let tried = try plan(source, isTried: true)
        let (before, after) = (copied(blind), copied(tried))
        try #require(after.count == 2)
        #expect(after[0] == before[0] && (121...124).contains(after[1].lowerBound), "\(after)")
        #expect(after[1].upperBound == before[1].upperBound && tried.moves == blind.moves)
        #expect(try trial(source).torn(tried, isCancelled: { false }).isEmpty)
    }

    @Test func `Copying of audio ends earlier if the re-encoded packet after it would have short AAC windows`() throws {
        let directory = try TemporaryDirectory()
        // The first clip's packet 90, whose first sample is 91136, would be re-encoded.
        let source = try source(tone(bangs: [92_400]), in: directory)
        let blind = try plan(source, isTried: false)
        #expect(copied(blind).map(\.upperBound).first == 90)
        #expect(try trial(source).torn(blind, isCancelled: { false }) == [AudioSeam(clip: 0, packet: 90)])
        let tried = try plan(source, isTried: true)
        #expect((84..<90).contains(copied(tried).map(\.upperBound).first ?? 0), "\(copied(tried))")
        #expect(try trial(source).torn(tried, isCancelled: { false }).isEmpty)
    }

    @Test func `If audio is a steady tone, copying of its packets begins and ends where it was planned`() throws {
        let directory = try TemporaryDirectory()
        let source = try source(tone(bangs: []), in: directory)
        #expect(try plan(source, isTried: true) == plan(source, isTried: false))
    }
}
