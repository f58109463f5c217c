// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import Testing

@Suite("Concatenated transport streams")
struct SeamTests {
    @Test(
        "Where transport streams are concatenated, neither frames nor audio are lost",
        arguments: ["0", "1000", "90000"])
    func appended(offset: String) throws {
        var clips: [Clip] = []
        for offset in ["0", offset] {
            clips.append(
                try Clip(
                    "-f", "lavfi", "-i", "testsrc2=s=320x180:r=30:d=2", "-f", "lavfi", "-i", "sine=440:d=2:r=48000",
                    "-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-c:a", "aac",
                    "-output_ts_offset", offset, suffix: ".ts"))
        }
        let second = try Data(contentsOf: URL(fileURLWithPath: clips[1].path))
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: clips[0].path))
        try file.seekToEnd()
        try file.write(contentsOf: second)
        try file.close()
        let sink = CollectingSink()
        try clips[0].play(into: sink)
        let taken = sink.taken
        #expect(taken.frames.count == 120)
        for (index, frame) in taken.frames.enumerated() {
            let expected = Int64(index) * 1_000_000_000 / 30
            #expect(abs(frame.nanoseconds - expected) <= 2_000_000, "frame \(index)")
        }
        // Both parts have up to one AAC frame of padding at either end.
        #expect((188_000...196_100).contains(taken.audio.count))
        #expect(taken.jumps.count <= 1)
    }
}
