// SPDX-License-Identifier: Apache-2.0

import Foundation
import Ingest
import Logging
import Media
import TestSupport
import Testing

@Suite("Loops of a file")
struct LoopTests {
    @Test("Every round of a looped file has all frames, without a gap", arguments: [".mp4", ".ts", ".mkv", ".flv"])
    func rounds(suffix: String) throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=30:d=1", "-f", "lavfi", "-i",
            "aevalsrc='if(gte(t,0.5)*lt(t,0.6),0.8*sin(2*PI*1000*t),0)':s=48000:d=1", "-c:v", "libx264", "-preset",
            "veryfast", "-pix_fmt", "yuv420p", "-c:a", "aac", suffix: suffix)
        let sink = CollectingSink(frames: 100, audio: 150_000)
        try clip.play(into: sink, loop: true)
        let taken = sink.taken
        for (index, frame) in taken.frames.prefix(100).enumerated() {
            let expected = Int64(index) * 1_000_000_000 / 30
            #expect(abs(frame.nanoseconds - expected) <= 2_000_000, "\(suffix) frame \(index)")
        }
        for round in 0..<3 {
            let part = Array(taken.audio[(round * 48_000)..<min(taken.audio.count, (round + 1) * 48_000)])
            let start = try #require(onset(part))
            #expect(abs(start - 24_000) < 200, "\(suffix) round \(round) at \(start)")
        }
    }

    @Test("If audio is shorter than the frames, the rest of each round is silent")
    func shortAudio() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=1", "-f", "lavfi", "-i", "sine=1000:d=0.4:r=48000",
            "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "pcm_s16le", suffix: ".mov")
        let sink = CollectingSink(frames: 60, audio: 100_000)
        try clip.play(into: sink, loop: true)
        #expect(sink.taken.jumps.first == 48_000)
        #expect(sink.taken.audio[19_200..<48_000].allSatisfy { $0 == 0 })
        #expect(sink.taken.starved.contains(.audio))
    }

    @Test("Audio that is longer than the frames is cut off at the end of each round")
    func longAudio() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=1", "-f", "lavfi", "-i", burst, "-c:v", "libx264",
            "-preset", "ultrafast", "-c:a", "pcm_s16le", suffix: ".mov")
        let sink = CollectingSink(frames: 60, audio: 100_000)
        try clip.play(into: sink, loop: true)
        #expect(onset(Array(sink.taken.audio[48_000...]), threshold: 0.01) == 24_001)
        #expect(sink.taken.frames[25].nanoseconds == 1_000_000_000)
    }

    // Before the fix, each round searched for its first frame after the last frame and failed, again and again. The 2 s
    // of audio are longer than the frames, of which the last begins at 0.96 s.
    @Test("A loop whose start position is after its last frame begins at its first frame", arguments: [985, 1500])
    func behindTheEnd(milliseconds: Int) throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=1", "-f", "lavfi", "-i", burst, "-c:v", "libx264",
            "-preset", "ultrafast", "-g", "5", "-c:a", "pcm_s16le", suffix: ".mov")
        let sink = CollectingSink(frames: 60, audio: 100_000)
        try clip.play(into: sink, loop: true, from: .milliseconds(milliseconds))
        #expect(sink.taken.frames.prefix(60).map(\.nanoseconds) == (0..<60).map { $0 * 40_000_000 })
        #expect(onset(Array(sink.taken.audio[48_000...]), threshold: 0.01) == 24_001)
    }

    @Test("A loop of a still image repeats the frame at the nominal frame rate")
    func still() throws {
        let clip = try Clip("-f", "lavfi", "-i", "testsrc2=s=320x180", "-frames:v", "1", suffix: ".png")
        let sink = CollectingSink(frames: 5)
        try clip.play(into: sink, loop: true)
        #expect(sink.taken.frames.prefix(5).map(\.nanoseconds) == (0..<5).map { $0 * 40_000_000 })
    }

    @Test("A loop of an audio file repeats without losing or adding a sample")
    func audioAlone() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "aevalsrc='if(gte(t,0.5)*lt(t,0.6),0.8*sin(2*PI*1000*t),0)':s=48000:d=1",
            suffix: ".wav")
        let sink = CollectingSink(audio: 150_000)
        try clip.play(into: sink, loop: true)
        #expect(sink.taken.jumps.isEmpty)
        #expect(onset(Array(sink.taken.audio[96_000..<144_000]), threshold: 0.01) == 24_001)
    }

    /// Returns a transport stream whose coding changes in its middle, and the same one without any audio or video.
    private func changingFiles() throws -> (whole: Data, empty: Data) {
        var (whole, empty) = (Data(), Data())
        for codecs in [["libx264", "aac"], ["mpeg2video", "mp2"]] {
            let clip = try Clip(
                "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=1", "-f", "lavfi", "-i", "sine=1000:d=1:r=48000",
                "-c:v", codecs[0], "-pix_fmt", "yuv420p", "-c:a", codecs[1], suffix: ".ts")
            let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: clip.path)))
            let packets = stride(from: 0, to: bytes.count - 187, by: 188).map { bytes[$0..<$0 + 188] }
            // The PIDs of ffmpeg's program association, service description and program map.
            let tables = packets.filter { packet in
                let head = Array(packet.prefix(3))
                return [0, 17, 0x1000].contains(Int(head[1] & 0x1F) << 8 | Int(head[2]))
            }
            whole.append(contentsOf: bytes)
            for _ in 0..<20 { tables.forEach { empty.append(contentsOf: $0) } }
        }
        return (whole, empty)
    }

    // A round without frames was followed by the next one at once: the file was opened some hundred times a second.
    @Test("A looped file that is replaced by one without frames is opened again after pauses, until it has frames")
    func withoutFrames() throws {
        let (whole, empty) = try changingFiles()
        let file = URL(fileURLWithPath: NSTemporaryDirectory() + "relay-loop-\(UUID().uuidString).ts")
        defer { try? FileManager.default.removeItem(at: file) }
        try whole.write(to: file, options: .atomic)
        let log = CollectedLog(from: .notice)
        let source = try SourceOpener.open(
            InputLocation(file.path), options: IngestOptions(loop: true), logger: log.logger)
        let sink = CollectingSink()
        source.start(into: sink, video: source.description.video, audio: .program)
        defer { source.stop() }
        try eventually("the file is played") { sink.taken.frames.count > 100 }
        try empty.write(to: file, options: .atomic)
        try eventually("the operator is told") { !log.lines(containing: "not a single frame").isEmpty }
        let (reopens, frames) = (source.status.reopens, sink.taken.frames.count)
        // Each attempt opens the file twice: at its start, and where its coding changes.
        try eventually("the second and the third attempt") { source.status.reopens >= reopens + 4 }
        #expect((1...4).contains(log.lines(containing: "not a single frame").count), "\(log.lines)")
        #expect(log.lines(containing: "delay_s=2").count == 1, "\(log.lines)")
        try whole.write(to: file, options: .atomic)
        try eventually("the file is played again") { sink.taken.frames.count > frames }
        #expect(source.status.state == .running)
    }

    @Test("A looped input that cannot be rewound is opened again and continues where it ended")
    func reopened() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=1", "-f", "lavfi", "-i", "sine=1000:d=1:r=48000", "-c:v",
            "rawvideo", "-pix_fmt", "yuv420p", "-c:a", "pcm_s16le", suffix: ".nut")
        // A pipe can be read but not rewound, and each writer sends the clip from its beginning.
        let pipe = NSTemporaryDirectory() + "relay-pipe-\(UUID().uuidString)"
        try Clip.run("mkfifo", [pipe])
        defer { try? FileManager.default.removeItem(atPath: pipe) }
        /// Sends the clip into the pipe once, as soon as a reader opens it.
        func write() throws -> Process {
            let writer = Process()
            writer.executableURL = URL(fileURLWithPath: "/bin/sh")
            writer.arguments = ["-c", "exec cat \(clip.path) > \(pipe)"]
            try writer.run()
            return writer
        }
        let first = try write()
        defer { first.terminate() }
        let source = try SourceOpener.open(
            InputLocation(pipe), options: IngestOptions(loop: true), logger: Logger(label: "test"))
        let sink = CollectingSink(frames: 50, audio: 96_000)
        source.start(into: sink, video: source.description.video, audio: .program)
        // A second writer before the pipe is closed would only make the first round longer.
        try eventually("the first round is over") { source.status.lastError != nil }
        let second = try write()
        defer { second.terminate() }
        #expect(sink.waitUntilDone())
        let taken = sink.taken
        source.stop()
        #expect(taken.frames.prefix(50).map(\.nanoseconds) == (0..<50).map { $0 * 40_000_000 })
        #expect(taken.starved == [.video, .audio])
        #expect(taken.moves == 0)
        #expect(taken.ended.isEmpty)
        #expect(source.status.reopens == 1)
    }
}
