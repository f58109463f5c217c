// SPDX-License-Identifier: Apache-2.0

import FanOut
import Media
import PacketSamples
import Synchronization
import TestSupport
import Testing

@testable import Publisher

/// Stores the packets that are published.
private final class Kept: PacketSink {
    private let state = Mutex<[EncodedPacket]>([])
    var packets: [EncodedPacket] { state.withLock { $0 } }

    func publish(_ packet: EncodedPacket) { state.withLock { $0.append(packet) } }
    func finish() {}
}

/// Tests the clock, the tables and the counters of UDP and SRT outputs, for all kinds of senders.
@Suite("Clock references (PCR) of a transport stream")
struct TransportClockTests {
    typealias Shape = GeneratedStream.Shape

    /// Checks an output's stream of `shape`, in which each frame ends its message, as when packets arrive one by one.
    private static func check(_ shape: Shape, seed: UInt64 = 1) throws -> BroadcastCheck {
        var random = SeededRandom(seed: seed)
        let sender = GeneratedStream(shape, using: &random)
        let kept = Kept()
        let sink: any PacketSink = shape.isEncoded ? kept : PassthroughSink(kept)
        for packet in sender.packets { sink.publish(packet) }
        let stream = try TransportStream(description: sender.description, messageBytes: 1316)
        var bytes: [UInt8] = []
        for packet in kept.packets {
            try stream.write(packet)
            stream.flush()
            while let message = stream.first {
                bytes += message
                stream.removeFirst()
            }
        }
        return BroadcastCheck(bytes, ignoring: shape.hasStills ? [.presentationInterval] : [])
    }

    private static func expectRight(_ shape: Shape, seed: UInt64 = 1, jumps: Int = 0) throws {
        let check = try check(shape, seed: seed)
        let summary = "\(shape), seed \(seed): \(check.counts) of \(check.clocks) clocks, \(check.findings.prefix(3))"
        #expect(check.findings.isEmpty, "\(summary)")
        #expect(check.announcedJumps <= jumps, "\(shape), seed \(seed)")
        #expect(check.clocks > 100)
    }

    private static func shape(_ change: (inout Shape) -> Void) -> Shape {
        var shape = Shape()
        change(&shape)
        return shape
    }

    private static let rates: [FrameRate] = [
        FrameRate(10), FrameRate(15), FrameRate(24), FrameRate(25), FrameRate(30000, 1001), FrameRate(50),
        FrameRate(60),
    ]

    @Test("The PCR of a stream encoded by relay only goes forward, at each frame rate", arguments: rates)
    func encoded(rate: FrameRate) throws {
        for hasAudio in [true, false] {
            try Self.expectRight(
                Self.shape {
                    ($0.isEncoded, $0.rate, $0.reorderDepth, $0.hasAudio) = (true, rate, 2, hasAudio)
                })
        }
    }

    @Test(
        "Audio that arrives in bundles, early or late, does not set the PCR of a copied stream back",
        arguments: [4, 8, 12], [true, false])
    func bundles(count: Int, isLate: Bool) throws {
        for rate in [FrameRate(25), FrameRate(24), FrameRate(50)] {
            try Self.expectRight(Self.shape { ($0.rate, $0.bundle, $0.isBundleLate) = (rate, count, isLate) })
        }
    }

    @Test(
        "A copied stream without durations keeps the limits of TR 101 290 after a gap in one track or in both",
        arguments: [100, 500, 900, 2000, 10_000], [(true, true), (true, false), (false, true)])
    func gaps(milliseconds: Int64, tracks: (video: Bool, audio: Bool)) throws {
        let isSilent = tracks.video && tracks.audio && milliseconds > 900
        try Self.expectRight(
            Self.shape {
                $0.statesDurations = false
                $0.gap = .init(hasVideo: tracks.video, hasAudio: tracks.audio, milliseconds: milliseconds)
            }, jumps: isSilent ? 1 : 0)
    }

    @Test(
        "A copied stream with still frames at a variable frame rate keeps the limits of TR 101 290",
        arguments: [true, false],
        [true, false])
    func stills(hasAudio: Bool, statesDurations: Bool) throws {
        for seed in UInt64(1)...4 {
            try Self.expectRight(
                Self.shape { ($0.rate, $0.hasAudio, $0.statesDurations) = (nil, hasAudio, statesDurations) },
                seed: seed)
        }
    }

    @Test(
        "An audio-only stream keeps the limits of TR 101 290, however long its audio frames are",
        arguments: [(1024, 48_000), (1024, 22_050), (2048, 48_000), (1024, 8000), (1152, 32_000)])
    func audioOnly(samples: Int64, rate: Int32) throws {
        try Self.expectRight(Self.shape { ($0.hasVideo, $0.audioFrame) = (false, (samples, rate)) })
    }

    @Test(
        "A track far behind the other sets the PCR back once, which is announced as a discontinuity",
        arguments: [-900, 600, 900])
    func lag(milliseconds: Int64) throws {
        let shape = Self.shape { $0.audioLag = milliseconds }
        try Self.expectRight(shape, jumps: 2)
    }

    @Test(
        "A copied stream keeps the limits of TR 101 290 in any order of its audio and video packets", arguments: 1...60)
    func anyOrder(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let shape = Shape(using: &random)
        try Self.expectRight(shape, seed: seed, jumps: shape.mayJump ? 4 : 0)
    }
}
