// SPDX-License-Identifier: Apache-2.0

import Ingest
import Media
import TestSupport
import Testing

@testable import Program
@testable import Studio

@Suite("Files that a run-down plays")
struct RunDownClipTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// A clip whose file is being opened.
    private func opening(_ clip: RunDown.Clip) -> RunDownClip {
        RunDownClip(clip, format: GrayVideo.format, pacing: .rendered, clock: SystemClock(), logger: quiet)
    }

    /// Waits until the file is ready or has failed, and returns the result as text.
    private func result(of clip: RunDownClip) throws -> String {
        try eventually("the file is ready or has failed") {
            if case .opening = clip.condition { false } else { true }
        }
        switch clip.condition {
        case .opening: return "opening"
        case .ready(let frames): return "ready, \(frames.map { "\($0)" } ?? "unknown") frames"
        case .failed(let reason): return "failed: \(reason)"
        }
    }

    @Test("A run-down's file is ready at its start position, with the number of frames from there to its end")
    func ready() throws {
        let clip = opening(RunDown.Clip(try GrayVideo.make(in: directory), start: .seconds(1)))
        defer { clip.stop() }
        #expect(try result(of: clip) == "ready, 25 frames")
        #expect(GrayVideo.isFrame(25, clip.feed?.presentFrame))
        // The file waits for the frame of the program at which it begins, so its end is not known.
        #expect(clip.end == nil && clip.fault == nil)
        guard case .feed(let feed) = clip.bus.scene?.layers.first?.video else {
            Issue.record("the file is not on its bus")
            return
        }
        #expect(feed === clip.feed)
    }

    @Test("A file that ends before its start position shows its last frame if its segment may be longer, else nothing")
    func over() throws {
        let path = try GrayVideo.make(in: directory)
        let refused = opening(RunDown.Clip(path, start: .seconds(5)))
        defer { refused.stop() }
        #expect(try result(of: refused) == "failed: It has no frame at 5s.")
        var standing = RunDown.Clip(path, start: .seconds(5))
        standing.stands = true
        let shown = opening(standing)
        defer { shown.stop() }
        #expect(try result(of: shown) == "ready, 0 frames")
        #expect(GrayVideo.isFrame(49, shown.feed?.presentFrame))
    }

    @Test("A run-down's file without video, and one that is missing, cannot be shown, and the reason is given")
    func unusable() throws {
        let sound = ["-f", "lavfi", "-i", "sine=duration=1", "-c:a", "pcm_s16le"]
        let heard = opening(RunDown.Clip(try GrayVideo.ffmpeg(sound, "sound.wav", in: directory)))
        #expect(try result(of: heard).contains("it has no video"))
        let missing = opening(RunDown.Clip(directory.path("none.mov")))
        #expect(try result(of: missing).hasPrefix("failed: "))
        #expect(missing.feed == nil && missing.bus.scene == nil)
    }

    @Test("The feed of a stopped file always has room, so that the thread that reads the file can end")
    func stopped() throws {
        let clip = opening(RunDown.Clip(try GrayVideo.make(in: directory)))
        #expect(try result(of: clip) == "ready, 50 frames")
        let feed = try #require(clip.feed)
        try eventually("the feed is full") { !feed.hasRoom(for: .video) }
        clip.stop()
        #expect(feed.hasRoom(for: .video))
    }

    @Test(
        "A run-down does not open a playlist, which could play files outside of its directory, whatever its name is",
        arguments: ["list.m3u8", "list.mp4", "join.mp4"])
    func playlists(name: String) throws {
        let outside = directory.path("outside.ts")
        let text =
            name == "join.mp4"
            ? "ffconcat version 1.0\nfile '\(outside)'\n"
            : "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:0.2,\nfile://\(outside)\n#EXT-X-ENDLIST\n"
        try directory.write(text.utf8, to: name)
        let error = #expect(throws: IngestError.self) {
            _ = try RunDownClip.open(
                RunDown.Clip(directory.path(name)), opening: SourceOpening(logger: quiet), logger: quiet)
        }
        #expect(error.map { "\($0)" }?.contains("it is no file that holds its media itself") == true)
    }
}
