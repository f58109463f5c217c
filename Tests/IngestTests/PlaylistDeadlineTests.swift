// SPDX-License-Identifier: Apache-2.0

import Foundation
import LibAV
import Logging
import Media
import Synchronization
import TestSupport
import Testing

@testable import Ingest

@Suite("Deadline for new segments of a live playlist", .serialized)
struct PlaylistDeadlineTests {
    /// Seven seconds of video and audio in segments of one second, and the number of packets in the first three.
    private struct Segments {
        let segments: [Data]
        let packets: Int64

        init() throws {
            let directory = NSTemporaryDirectory() + "relay-playlist-\(UUID().uuidString)/"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: directory) }
            try Clip.run(
                "ffmpeg",
                [
                    "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc=s=160x90:r=25:d=7", "-f", "lavfi", "-i",
                    "sine=d=7:r=48000", "-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-g", "25", "-pix_fmt",
                    "yuv420p", "-c:a", "aac", "-f", "hls", "-hls_time", "1", "-hls_list_size", "0",
                    "-hls_segment_filename", directory + "%d.ts", directory + "list.m3u8",
                ])
            segments = try (0..<7).map { try Data(contentsOf: URL(fileURLWithPath: directory + "\($0).ts")) }
            let three = directory + "three.ts"
            try (segments[0] + segments[1] + segments[2]).write(to: URL(fileURLWithPath: three))
            let demuxer = try Demuxer(url: three, options: .init(), interrupter: Interrupter(), subject: "three")
            var packets: Int64 = 0
            while try demuxer.readPacket() != nil { packets += 1 }
            self.packets = packets
        }
    }

    /// A live playlist that is played, with deadlines on a clock that the test advances. The clock of its playlist
    /// watch stands still.
    private final class Player {
        let clock = ManualClock()
        let server: PlaylistServer
        let source: any MediaSource
        let sink = CollectingSink()
        let log = CollectedLog()

        init(_ media: Segments, target: Int) throws {
            server = try PlaylistServer(media.segments, .init(target: target, count: 3))
            source = try SourceOpener.open(
                InputLocation(server.url), options: IngestOptions(),
                monitor: SourceMonitor(
                    logger: log.logger, interrupter: Interrupter(clock: clock), clock: ManualClock()))
            source.start(into: sink, video: source.description.video, audio: .program)
            // A demuxer retains a packet or two of each track, so the last packet can only be recognized by a pause.
            var (last, looks) = (Int64(0), 0)
            try eventually("all is read that there is") {
                let read = source.status.packetsRead
                (last, looks) = (read, read == last && read >= media.packets - 6 ? looks + 1 : 0)
                return looks == 10
            }
        }

        deinit { source.stop() }
    }

    private static let media = Result { try Segments() }

    /// The latest time at which the next segment is found: a target duration, `late` seconds, and the half target
    /// duration between two requests of the playlist.
    private static func gap(target: Int, late: Int) -> Duration {
        .seconds(target) + .seconds(target) / 2 + .seconds(late)
    }

    @Test(
        "A playlist segment that is as long as the target duration, or arrives 3 s late, is not lost",
        arguments: [2, 6, 8, 10, 20], [0, 3])
    func late(target: Int, late: Int) throws {
        let media = try Self.media.get()
        let player = try Player(media, target: target)
        // libavformat checks its deadline before it requests the playlist again.
        player.clock.advance(by: Self.gap(target: target, late: late))
        player.server.update { $0.count = 4 }
        try eventually("the next segment is read") { player.source.status.packetsRead > media.packets + 20 }
        #expect(player.source.status.reopens == 0 && player.source.status.lastError == nil)
        #expect(player.log.lines.isEmpty, "\(player.log.lines)")
    }

    @Test(
        "A playlist without new segments fails after three target durations, and is reopened when it has one",
        arguments: [(2, 10), (10, 30)])
    func standsStill(target: Int, bound: Int) throws {
        let player = try Player(try Self.media.get(), target: target)
        let begin = player.clock.now
        player.clock.advance(by: .seconds(bound) - .milliseconds(500))
        try eventually("it is given up") {
            player.clock.advance(by: .milliseconds(10))
            return player.source.status.state == .waiting
        }
        // Before the fix, the packet that the demuxer returned at the deadline started another period of the same
        // length.
        let waited = player.clock.now - begin
        let limit = Duration.seconds(bound)
        #expect((limit..<limit * 2).contains(waited))
        #expect(player.log.lines(containing: "timed out").count == 1, "\(player.log.lines)")
        try eventually("it is not played again") {
            player.source.status.lastError?.contains("no new segment") == true
        }
        #expect(player.source.status.reopens == 0)
        player.server.update { ($0.first, $0.count) = (1, 3) }
        try eventually("it is open again") { player.source.status.reopens == 1 }
        try eventually("the new segment is played") { player.source.status.state == .running }
    }

    @Test("A playlist whose server stops answering fails after three target durations")
    func silentServer() throws {
        let player = try Player(try Self.media.get(), target: 6)
        player.server.fallSilent(true)
        player.clock.advance(by: .seconds(17))
        try eventually("it is given up") {
            // The request for the end of the playlist has a deadline as well.
            player.clock.advance(by: .milliseconds(100))
            return !player.log.lines(containing: "input is interrupted").isEmpty
        }
        player.server.fallSilent(false)
        player.server.update { $0.count = 5 }
        try eventually("it is open again") {
            player.clock.advance(by: .milliseconds(1))
            return player.source.status.reopens >= 1
        }
    }

    @Test("The deadline for a read follows the playlist's target duration, and is never below that of other inputs")
    func bounds() {
        let usual = Duration.seconds(10)
        for (target, bound) in [(1, 10), (2, 10), (6, 18), (8, 24), (10, 30), (20, 60)] {
            #expect(Demuxer.readTimeout(usual, target: .seconds(target)) == .seconds(bound))
        }
        #expect(Demuxer.readTimeout(usual, target: nil) == usual)
        #expect(Demuxer.readTimeout(nil, target: .seconds(6)) == nil)
        for target in [2, 6, 8, 10, 20] {
            let bound = Demuxer.readTimeout(usual, target: .seconds(target)) ?? .zero
            #expect(Self.gap(target: target, late: 3) < bound)
        }
    }

    @Test("The end of a playlist is known from a list of segments, but not from a list of variants")
    func end() {
        let list = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:41\n#EXTINF:2,\na.ts\n#EXTINF:2,\nb.ts\n"
        #expect(PlaylistHead(list)?.end == 43)
        #expect(PlaylistHead("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlow.m3u8\n")?.end == nil)
        #expect(PlaylistHead("#EXTM3U\n#EXT-X-TARGETDURATION:2\n")?.end == 0)
    }
}
