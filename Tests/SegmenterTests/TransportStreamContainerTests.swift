// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import PacketSamples
import TestSupport
import Testing

@testable import Archive
@testable import Segmenter

/// The clock, the tables and the counters of `.ts` recordings from all kinds of senders.
@Suite("The PCR of a recorded transport stream")
struct TransportStreamContainerTests {
    typealias Shape = GeneratedStream.Shape

    /// Checks a recording of `shape` in fragments of half a second, as the recorder cuts them.
    private static func check(_ shape: Shape, seed: UInt64) throws -> BroadcastCheck {
        var random = SeededRandom(seed: seed)
        let sender = GeneratedStream(shape, using: &random)
        let start = UTCTime(milliseconds: 0)
        let settings = SegmentFileSettings(
            directory: "/", name: SegmentName(channel: "c", start: start, sequence: 1), format: .ts,
            description: sender.description, tags: MovieTags(channel: "c", start: start, encoderSettings: ""),
            fragmentDuration: .milliseconds(500))
        var container = try TransportStreamContainer(settings, path: "c.ts")
        var bytes = container.head()
        var (video, audio): ([EncodedPacket], [EncodedPacket]) = ([], [])
        var end: ProgramInstant = 500_000_000
        for packet in sender.packets {
            if packet.track == sender.description.leadingKind, packet.programDts >= end {
                for piece in try container.fragment(video, audio, next: nil, at: 0) { bytes += piece.array }
                (video, audio) = ([], [])
                while end <= packet.programDts { end += .milliseconds(500) }
            }
            if packet.track == .video { video.append(packet) } else { audio.append(packet) }
        }
        for piece in try container.fragment(video, audio, next: nil, at: 0) { bytes += piece.array }
        return BroadcastCheck(bytes, ignoring: shape.hasStills ? [.presentationInterval] : [])
    }

    @Test(
        "The PCR of a recorded transport stream never decreases, and tables and counters are valid",
        arguments: UInt64(1)...40)
    func anyOrder(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let shape = Shape(using: &random)
        let check = try Self.check(shape, seed: seed)
        let summary = "\(shape), seed \(seed): \(check.counts) of \(check.clocks) clocks, \(check.findings.prefix(3))"
        #expect(check.findings.isEmpty, "\(summary)")
        #expect(check.announcedJumps <= (shape.mayJump ? 4 : 0), "\(summary)")
        #expect(check.clocks > 100)
    }

    /// Checks the recorder's file of `shape` with its audio first, so that fragments end before their frames arrive.
    private static func recorded(_ shape: Shape, seed: UInt64) throws -> BroadcastCheck {
        var random = SeededRandom(seed: seed)
        let sender = GeneratedStream(shape, using: &random)
        let directory = try TemporaryDirectory()
        let start = UTCTime(milliseconds: 0)
        let settings = SegmentFileSettings(
            directory: directory.path, name: SegmentName(channel: "c", start: start, sequence: 1), format: .ts,
            description: sender.description, tags: MovieTags(channel: "c", start: start, encoderSettings: ""),
            fragmentDuration: .milliseconds(500))
        let keyframe = try #require(sender.packets.first { $0.track == .video })
        let parent = try FileDescriptor.open(directory: directory.path)
        let file = try SegmentFile(settings, in: parent, start: SegmentStart(keyframe: keyframe))
        let clock = ManualClock()
        for packet in sender.packets { _ = try file.append(packet, clock: clock) }
        try file.flush()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: directory.path(settings.name.open)))
        return BroadcastCheck([UInt8](bytes), ignoring: [.presentationInterval])
    }

    @Test(
        "Frames after a gap are written before later audio, so that the transport stream's PCR continues",
        arguments: UInt64(1)...40)
    func gapWithoutHold(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var shape = Shape(using: &random)
        (shape.hasVideo, shape.hasAudio, shape.isEncoded, shape.bundle) = (true, true, false, 1)
        shape.audioLag = Int64.random(in: -200...0, using: &random)
        shape.gap = .init(hasAudio: false, milliseconds: Int64.random(in: 100...4000, using: &random))
        let check = try Self.recorded(shape, seed: seed)
        let summary = "\(shape), seed \(seed): \(check.findings.prefix(3))"
        #expect(check.findings.isEmpty && check.announcedJumps == 0, "\(summary), \(check.announcedJumps) jumps")
        #expect(check.clocks > 100)
    }
}
