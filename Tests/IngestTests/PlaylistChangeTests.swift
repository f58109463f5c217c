// SPDX-License-Identifier: Apache-2.0

import Foundation
import LibAV
import Logging
import Media
import Synchronization
import TestSupport
import Testing

@testable import Ingest

@Suite("Live playlists that change their coding or are started again", .serialized)
struct PlaylistChangeTests {
    /// Four seconds of video in one color, in segments of one second.
    private struct Segments {
        let segments: [Data]
        /// The initialization section; empty for a transport stream.
        let section: Data

        init(_ color: String, _ size: String, fragmented: Bool) throws {
            let directory = try TemporaryDirectory()
            defer { withExtendedLifetime(directory) {} }
            let folder = directory.path + "/"
            let suffix = fragmented ? "m4s" : "ts"
            try Clip.run(
                "ffmpeg",
                [
                    "-v", "error", "-nostdin", "-f", "lavfi", "-i", "color=\(color):s=\(size):r=25:d=4", "-f", "lavfi",
                    "-i", "sine=d=4:r=48000", "-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-g", "25",
                    "-pix_fmt", "yuv420p", "-c:a", "aac", "-f", "hls", "-hls_time", "1", "-hls_list_size", "0",
                    "-hls_segment_type", fragmented ? "fmp4" : "mpegts", "-hls_fmp4_init_filename", "init.mp4",
                    "-hls_segment_filename", folder + "%d.\(suffix)", folder + "list.m3u8",
                ])
            segments = try (0..<4).map { try Data(contentsOf: URL(fileURLWithPath: folder + "\($0).\(suffix)")) }
            section = fragmented ? try Data(contentsOf: URL(fileURLWithPath: folder + "init.mp4")) : Data()
        }
    }

    /// A live playlist that is played. The clock of its deadlines stands still, and the clock of its playlist watch
    /// advances only when the test advances it.
    private final class Player {
        let watch = ManualClock()
        let server: PlaylistServer
        let source: any MediaSource
        let sink = CollectingSink()
        let log = CollectedLog(from: .notice)

        init(_ segments: [Data], sections: [String: Data] = [:], _ playlist: PlaylistServer.Playlist) throws {
            server = try PlaylistServer(segments, sections: sections, playlist)
            source = try SourceOpener.open(
                InputLocation(server.url), options: IngestOptions(),
                monitor: SourceMonitor(
                    logger: log.logger, interrupter: Interrupter(clock: ManualClock()), clock: watch))
            source.start(into: sink, video: source.description.video, audio: .program)
        }

        deinit { source.stop() }

        /// The number of frames that are red (Cb from 90 to 102) or blue (240), and of all others.
        var frames: (red: Int, blue: Int, other: Int) {
            sink.taken.frames.reduce(into: (0, 0, 0)) { counts, frame in
                switch frame.middleU {
                case 80...110: counts.0 += 1
                case 220...250: counts.1 += 1
                default: counts.2 += 1
                }
            }
        }
    }

    /// Segments 0 to 3 are red, segments 4 to 7 are blue.
    private static let fragmented = Result {
        (try Segments("red", "160x90", fragmented: true), try Segments("blue", "320x180", fragmented: true))
    }

    @Test("All frames of a playlist whose initialization section changes are decoded")
    func otherCoding() throws {
        let (red, blue) = try Self.fragmented.get()
        let player = try Player(
            red.segments + blue.segments, sections: ["red.mp4": red.section, "blue.mp4": blue.section],
            .init(target: 1, count: 3, sections: [0: "red.mp4", 4: "blue.mp4"]))
        player.server.update { $0.count = 6 }
        try eventually("the blue segments are shown") { player.frames.blue >= 30 }
        player.server.update { ($0.first, $0.count) = (3, 5) }
        // The last frames may be kept by the demuxer until another segment follows.
        try eventually("all segments are shown") { player.frames.blue >= 90 }
        let frames = player.frames
        #expect(frames.red >= 90 && frames.red <= 100, "\(frames)")
        #expect(frames.blue <= 100 && frames.other == 0, "\(frames)")
        #expect(player.source.status.reopens == 1 && player.source.status.decodeErrors == 0)
        #expect(player.log.lines(containing: "coded in another way").count == 1, "\(player.log.lines)")
    }

    @Test("If a playlist returns to its first coding after an advertisement, all of its frames are decoded")
    func advertisement() throws {
        let (red, blue) = try Self.fragmented.get()
        let player = try Player(
            red.segments + blue.segments.prefix(2) + red.segments,
            sections: ["red.mp4": red.section, "blue.mp4": blue.section],
            .init(target: 1, count: 3, sections: [0: "red.mp4", 4: "blue.mp4", 6: "red.mp4"]))
        player.server.update { $0.count = 10 }
        try eventually("all segments are shown") { player.frames.red >= 185 }
        let frames = player.frames
        #expect(frames.red <= 200 && frames.other == 0, "\(frames)")
        #expect(frames.blue >= 40 && frames.blue <= 50, "\(frames)")
        #expect(player.source.status.reopens == 2 && player.source.status.decodeErrors == 0)
    }

    @Test("If a playlist's initialization section is written again with another time, the input is not reopened")
    func sameCoding() throws {
        let (red, _) = try Self.fragmented.get()
        var later = red.section
        for name in ["mvhd", "tkhd", "mdhd"] {
            let box = try #require(later.range(of: Data(name.utf8)))
            // The creation time follows the name, the version and the flags.
            later.replaceSubrange(box.upperBound + 4..<box.upperBound + 8, with: [0xE0, 0, 0, 1] as [UInt8])
        }
        let player = try Player(
            red.segments, sections: ["red.mp4": red.section, "later.mp4": later],
            .init(target: 1, count: 3, sections: [0: "red.mp4", 3: "later.mp4"]))
        player.server.update { $0.count = 4 }
        try eventually("all segments are shown") { player.frames.red >= 90 }
        #expect(player.source.status.reopens == 0 && player.source.status.decodeErrors == 0)
    }

    /// Counts the packets of video that it takes, separately for each time between two calls of ``restart()``.
    private final class Copies: PacketSourceSink {
        private let state = Mutex<(video: [Int], isDecodable: Bool)>(([], true))
        /// The number of packets of video before the first restart, and after each restart.
        var video: [Int] { state.withLock { $0.video } }
        /// Whether the video began with a keyframe at first and after each restart.
        var beginsWithKeyframes: Bool { state.withLock { $0.isDecodable } }

        init() { restart() }

        func take(_ packet: EncodedPacket, at arrival: MonotonicInstant) {
            guard packet.track == .video else { return }
            state.withLock { state in
                if state.video.last == 0, !packet.isKeyframe { state.isDecodable = false }
                state.video[state.video.count - 1] += 1
            }
        }

        func restart() { state.withLock { $0.video.append(0) } }
        func end(failure: String?) {}
    }

    @Test("All packets of a playlist whose initialization section changes are copied, and none of them twice")
    func copied() throws {
        let (red, blue) = try Self.fragmented.get()
        let server = try PlaylistServer(
            red.segments + blue.segments, sections: ["red.mp4": red.section, "blue.mp4": blue.section],
            .init(target: 1, count: 6, sections: [0: "red.mp4", 4: "blue.mp4"]))
        let source = LibAVPacketSource(InputLocation(server.url), loops: false, logger: CollectedLog().logger)
        _ = try source.open()
        let sink = Copies()
        source.start(into: sink)
        defer { source.stop() }
        // Playback begins three segments before the end of the list.
        try eventually("the blue segments are read") { sink.video.count > 1 && sink.video[1] >= 45 }
        server.update { $0.count = 8 }
        try eventually("all segments are read") { sink.video[1] >= 95 }
        #expect(sink.video == [25, sink.video[1]] && sink.video[1] <= 100 && sink.beginsWithKeyframes, "\(sink.video)")
        #expect(source.status.reopens == 1 && source.status.decodeErrors == 0)
    }

    @Test("A playlist that restarts with smaller sequence numbers is reopened at once")
    func startedAgain() throws {
        let (red, blue) = (
            try Segments("red", "160x90", fragmented: false), try Segments("blue", "160x90", fragmented: false)
        )
        let player = try Player(red.segments + blue.segments, .init(target: 1, count: 3, sequence: 500))
        try eventually("the red segments are shown") { player.frames.red >= 70 }
        player.server.update { ($0.first, $0.count, $0.sequence) = (4, 3, 0) }
        try eventually("the blue segments are shown") {
            player.watch.advance(by: .milliseconds(100))
            return player.frames.blue >= 70
        }
        #expect(player.source.status.reopens == 1)
        #expect(player.log.lines(containing: "started again").count == 1, "\(player.log.lines)")
        #expect(player.log.lines(containing: "interrupted").isEmpty, "\(player.log.lines)")
        // After the change, the sequence continues.
        player.server.update { $0.count = 4 }
        try eventually("the next segment is shown") { player.frames.blue >= 90 }
        #expect(player.source.status.reopens == 1)
    }
}
