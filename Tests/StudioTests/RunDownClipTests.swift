// SPDX-License-Identifier: Apache-2.0

import Ingest
import Studio
import TestSupport
import Testing

@Suite("Files that a run-down plays")
struct RunDownClipTests {
    @Test(
        "A run-down does not open a playlist, which could play files outside of its directory, whatever its name is",
        arguments: ["list.m3u8", "list.mp4", "join.mp4"])
    func playlists(name: String) throws {
        let directory = try TemporaryDirectory()
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
