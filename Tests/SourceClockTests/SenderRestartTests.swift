// SPDX-License-Identifier: Apache-2.0

import Media
import TestSupport
import Testing

@testable import SourceClock

/// Tests a transport stream whose sender ends and restarts with other times while the transport stays open.
@Suite("A sender that restarts while its connection stays open")
struct SenderRestartTests {
    private struct Packet {
        let stamp: SourceClock.Stamp
        let arrival: Int64
        let isNew: Bool
    }

    /// One session of the sender: its packets and their arrival.
    private struct Session {
        var start: Int64
        var length: Int64
        /// The first timestamp, and how much later the video's first one is.
        var epoch: Int64
        var videoLead: Int64
        /// This many audio packets are delivered with the last one of them.
        var bundle: Int
        var audioLate: Int64 = 0
        var jitter: Int64 = 0
    }

    private static let millisecond: Int64 = 1_000_000
    private static let both: [TrackKind: (timeBase: TimeBase, bits: Int?)] = [
        .video: (.mpegTS, 33), .audio: (.mpegTS, 33),
    ]

    /// The packets of two sessions as a demuxer yields them: it holds back the last two of video until other frames
    /// follow, even those of the next session.
    private func packets(_ sessions: [Session], heldBack: Int, random: inout SeededRandom) -> [Packet] {
        var packets: [Packet] = []
        var held: [(dts: Int64, isNew: Bool)] = []
        for (number, session) in sessions.enumerated() {
            let jitter = { (random: inout SeededRandom) in
                session.jitter > 0 ? Int64.random(in: 0...session.jitter, using: &random) : 0
            }
            for time in stride(from: 0, to: session.length, by: 40 * Int(Self.millisecond)) {
                held.append((session.epoch + session.videoLead + time, number > 0))
                guard held.count > heldBack else { continue }
                let frame = held.removeFirst()
                packets.append(
                    Packet(
                        stamp: stamp(.video, frame.dts, 40 * Self.millisecond),
                        arrival: session.start + time + jitter(&random), isNew: frame.isNew))
            }
            let length = TimeBase(1024, 48_000).rescale(1, to: .nanoseconds)
            for first in stride(from: 0, to: session.length / length, by: session.bundle) {
                let arrival =
                    session.start + (first + Int64(session.bundle)) * length + session.audioLate + jitter(&random)
                guard arrival < session.start + session.length else { break }
                for index in first..<first + Int64(session.bundle) {
                    packets.append(
                        Packet(
                            stamp: stamp(.audio, session.epoch + index * length, length), arrival: arrival,
                            isNew: number > 0))
                }
            }
        }
        // Packets of one track stay in order, also where one session follows the other at once.
        var latest: [TrackKind: Int64] = [:]
        packets = packets.map { packet in
            let arrival = max(packet.arrival, latest[packet.stamp.track] ?? 0)
            latest[packet.stamp.track] = arrival
            return Packet(stamp: packet.stamp, arrival: arrival, isNew: packet.isNew)
        }
        return packets.enumerated().sorted { ($0.element.arrival, $0.offset) < ($1.element.arrival, $1.offset) }
            .map(\.element)
    }

    private func stamp(_ track: TrackKind, _ time: Int64, _ length: Int64) -> SourceClock.Stamp {
        SourceClock.Stamp(
            track, dts: TimeBase.nanoseconds.rescale(time, to: .mpegTS),
            duration: TimeBase.nanoseconds.rescale(length, to: .mpegTS))
    }

    @Test(
        "If a demuxer holds frames back until the sender restarts, audio is shifted together with the video",
        arguments: [0, 100, 500, 1500, 3000, 9000] as [Int64], [0, 1, 2])
    func restart(pause: Int64, heldBack: Int) throws {
        var random = SeededRandom("\(pause) \(heldBack)")
        for round in 0..<54 {
            let length = Int64.random(in: 5000...40_000, using: &random) * Self.millisecond
            let bundle = [1, 8, 16][round % 3]
            let late = [0, 0, 800][round / 3 % 3] * Self.millisecond
            let first = Session(
                start: 0, length: length, epoch: 1_400 * Self.millisecond,
                videoLead: Int64.random(in: 0...130, using: &random) * Self.millisecond, bundle: bundle,
                audioLate: late, jitter: Int64.random(in: 0...10, using: &random) * Self.millisecond)
            var second = first
            second.start = length + (pause + Int64.random(in: 0...99, using: &random)) * Self.millisecond
            second.length = 20_000 * Self.millisecond
            second.epoch = [1_400, 0, 90_000_000][round / 9 % 3] * Self.millisecond
            second.videoLead = Int64.random(in: 0...400, using: &random) * Self.millisecond
            try expectTogether(
                packets([first, second], heldBack: heldBack, random: &random), pause: pause,
                "pause \(pause), held back \(heldBack), round \(round): \(first), \(second)")
        }
    }

    private func expectTogether(_ packets: [Packet], pause: Int64, _ comment: String) throws {
        var clock = SourceClock(.transportStream, tracks: Self.both)
        var shifts: [TrackKind: Int64] = [:]
        for packet in packets {
            let noted = clock.note(packet.stamp, arrival: MonotonicInstant(nanoseconds: packet.arrival))
            let time = try #require(noted).time
            let shift = time.nanoseconds - TimeBase.mpegTS.rescale(packet.stamp.dts, to: .nanoseconds)
            if packet.isNew { shifts[packet.stamp.track] = shift }
        }
        let (video, audio) = (try #require(shifts[.video]), try #require(shifts[.audio]))
        #expect(abs(video - audio) <= 2, "\(comment): \((audio - video) / 1000) µs")
        #expect(clock.status.jumps == 1, "\(comment)")
        #expect(clock.status.loneJumps == 0, "\(comment)")
        // Packets that were held back are late, and so is audio that arrives later in the new multiplex, until the
        // mapping has moved.
        if pause > 2000 { #expect(clock.status.latePackets < 50, "\(comment)") }
    }
}
