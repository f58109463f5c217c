// SPDX-License-Identifier: Apache-2.0

import Foundation
import LibAV
import Logging
import Media
import Synchronization
import TestSupport
import Testing

@testable import Ingest

@Suite("The initialization sections of each list of a live playlist", .serialized)
struct PlaylistSectionTests {
    /// Records where the packets of video and of audio end, separately before and after each restart.
    private final class Ends: PacketSourceSink {
        private let state = Mutex<[[TrackKind: Int64]]>([[:]])
        /// The ends in nanoseconds of the sender's time: before the first restart, and after each restart.
        var times: [[TrackKind: Int64]] { state.withLock { $0 } }

        func take(_ packet: EncodedPacket, at arrival: MonotonicInstant) {
            let end = packet.timeBase.rescale(packet.pts + packet.duration, to: .nanoseconds)
            state.withLock { $0[$0.count - 1][packet.track] = max($0[$0.count - 1][packet.track] ?? end, end) }
        }

        func restart() { state.withLock { $0.append([:]) } }
        func end(failure: String?) {}
    }

    /// One track in fragmented MP4, in segments of one second.
    private static func track(_ arguments: [String], _ name: String) throws -> [String: Data] {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        try Clip.run(
            "ffmpeg",
            ["-v", "error", "-nostdin", "-f", "lavfi", "-i"] + arguments + [
                "-f", "hls", "-hls_time", "1", "-hls_list_size", "0", "-hls_segment_type", "fmp4",
                "-hls_fmp4_init_filename", "init.mp4", "-hls_segment_filename", directory.path("%d.m4s"),
                directory.path("list.m3u8"),
            ])
        let files = directory.files.filter { $0 != "list.m3u8" }
        return try files.reduce(into: [:]) { contents, file in
            contents[name + file] = try Data(contentsOf: URL(fileURLWithPath: directory.path(file)))
        }
    }

    private static func video(_ source: String, _ name: String) throws -> [String: Data] {
        try track(
            [source, "-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-g", "25", "-pix_fmt", "yuv420p"], name)
    }

    /// The media of a playlist whose coding changes behind four seconds.
    private struct Material {
        /// Four segments of video, and four of another coding if it changes.
        let segments: [Data]
        /// The initialization sections of the video by the numbers of the segments.
        let sections: [Int: String]
        /// The initialization sections, and the files of the audio.
        var files: [String: Data]

        /// Creates media with segments of a few hundred bytes, or with large ones.
        init(isSmall: Bool, changesVideo: Bool = true) throws {
            let noise = isSmall ? "" : ",noise=alls=40:allf=t"
            var files = try PlaylistSectionTests.video("color=red:s=160x90:r=25:d=8" + noise, "red")
            files.merge(try PlaylistSectionTests.video("color=blue:s=320x180:r=25:d=4" + noise, "blue")) { $1 }
            segments = try (0..<8).map { number in
                try #require(files[changesVideo && number >= 4 ? "blue\(number - 4).m4s" : "red\(number).m4s"])
            }
            sections = changesVideo ? [0: "redinit.mp4", 4: "blueinit.mp4"] : [0: "redinit.mp4"]
            self.files = files
        }

        /// Adds a list of audio, `audio.m3u8`, and a list of the variant, `main.m3u8`.
        mutating func addAudio(isSmall: Bool) throws {
            var list = "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:0\n"
            for (rate, numbers) in [(48_000, 0..<4), (44_100, 4..<6)] {
                let source = isSmall ? "anullsrc=r=\(rate):d=4" : "sine=d=4:r=\(rate)"
                files.merge(try PlaylistSectionTests.track([source, "-c:a", "aac"], "audio\(rate)-")) { $1 }
                if numbers.lowerBound > 0 { list += "#EXT-X-DISCONTINUITY\n" }
                list += "#EXT-X-MAP:URI=\"audio\(rate)-init.mp4\"\n"
                for number in numbers { list += "#EXTINF:1.0,\naudio\(rate)-\(number % 4).m4s\n" }
            }
            let main = """
                #EXTM3U
                #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="a",DEFAULT=YES,AUTOSELECT=YES,URI="audio.m3u8"
                #EXT-X-STREAM-INF:BANDWIDTH=500000,AUDIO="a"
                live.m3u8

                """
            files.merge(["main.m3u8": Data(main.utf8), "audio.m3u8": Data(list.utf8)]) { $1 }
        }
    }

    /// Reads six segments of `material`, of which playback begins with the last in front of the change, until packets of
    /// the other coding come.
    private func read(_ material: Material, list: String) throws -> [[TrackKind: Int64]] {
        let server = try PlaylistServer(
            material.segments, sections: material.files, .init(target: 1, count: 6, sections: material.sections))
        defer { withExtendedLifetime(server) {} }
        let url = server.url.replacing("live.m3u8", with: list)
        let source = LibAVPacketSource(InputLocation(url), loops: false, logger: CollectedLog().logger)
        _ = try source.open()
        let sink = Ends()
        source.start(into: sink)
        defer { source.stop() }
        try eventually("the segments behind the change are read") { sink.times.count > 1 && !sink.times[1].isEmpty }
        return sink.times
    }

    @Test("If libavformat requests the next initialization section while it opens a playlist, reading still ends there")
    func small() throws {
        let times = try read(try Material(isSmall: true), list: "live.m3u8")
        #expect(times[0] == [.video: 4_000_000_000], "\(times)")
    }

    @Test(
        "At a change of the initialization sections, audio of a list of its own is read to the end of the video",
        arguments: [false, true])
    func separateAudio(isSmall: Bool) throws {
        try expectEqualEnds(try Material(isSmall: isSmall), isSmall: isSmall)
    }

    @Test("A playlist ends where only its audio changes, whatever the size of the segments", arguments: [false, true])
    func changedAudio(isSmall: Bool) throws {
        try expectEqualEnds(try Material(isSmall: isSmall, changesVideo: false), isSmall: isSmall)
    }

    /// Expects that audio and video end together in front of the change, to a frame.
    private func expectEqualEnds(_ video: Material, isSmall: Bool) throws {
        var material = video
        try material.addAudio(isSmall: isSmall)
        let times = try read(material, list: "main.m3u8")
        let (videoEnd, audioEnd) = (try #require(times[0][.video]), try #require(times[0][.audio]))
        #expect(abs(videoEnd - audioEnd) < 60_000_000, "\(videoEnd) and \(audioEnd)")
    }
}
