// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Ingest
import Logging
import Media
import Program
import Synchronization
import Testing

/// Stores the source's time of each frame of the program, in nanoseconds, and the audio.
private final class Screen: ProgramSink {
    let frames = Mutex<[Int64]>([])
    let samples = Mutex<[Float]>([])

    func encode(_ frame: VideoFrame, at index: Int64) throws {
        frames.withLock { $0.append(frame.timeBase.rescale(frame.pts, to: .nanoseconds)) }
    }
    func encode(_ audio: AudioBuffer) throws { samples.withLock { $0 += audio.channels[0] } }
    func finish() throws {}
}

/// Tests files in which much audio is between two frames, even more than is read ahead.
@Suite("Sparse video")
struct SparseVideoTests {
    /// The first `frames` frames of a program that plays `clip` as fast as possible.
    private func play(
        _ clip: Clip, frames: Int64, rate: FrameRate = FrameRate(25)
    ) throws -> (frames: [Int64], samples: [Float]) {
        let source = try SourceOpener.open(
            InputLocation(clip.path), options: IngestOptions(), logger: Logger(label: "test"))
        defer { source.stop() }
        let feed = SourceFeed(pacing: .rendered, frameRate: rate, audio: .program)
        source.start(into: feed, video: source.description.video, audio: .program)
        let (bus, screen) = (Bus(), Screen())
        bus.add(feed)
        bus.show(Scene(video: .feed(feed), audio: feed))
        let program = Program(
            frameRate: rate, audio: .program, pacing: .unpaced, frameLimit: frames, bus: bus,
            sink: screen, logger: Logger(label: "test"))
        DispatchQueue.global().asyncAfter(deadline: .now() + 60) { program.stop() }
        _ = try program.run()
        feed.close()
        return (screen.frames.withLock { $0 }, screen.samples.withLock { $0 })
    }

    /// Whether each hundredth of a second contains the tone.
    private func isWhole(_ samples: [Float]) -> Bool {
        stride(from: 0, to: samples.count - 479, by: 480).allSatisfy { start in
            samples[start..<start + 480].contains { abs($0) > 0.03 }
        }
    }

    @Test("A file with a single frame shows that frame while its audio is played")
    func picture() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=0.04", "-f", "lavfi", "-i", "sine=1000:d=240:r=48000",
            "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-c:a", "pcm_s16le", suffix: ".mov")
        let (frames, samples) = try play(clip, frames: 475)
        #expect(frames == [Int64](repeating: 0, count: 475))
        #expect(samples.count == 475 * 1920 && isWhole(samples))
    }

    @Test(
        "Still frames far apart are shown at their times, even if the decoder needs several before it outputs one",
        arguments: [(8, 64, 1400), (30, 300, 1600)])
    func slides(distance: Int64, seconds: Int, count: Int64) throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=1/\(distance):d=\(seconds)",
            "-f", "lavfi", "-i", "sine=1000:d=\(seconds):r=48000",
            "-c:v", "libx264", "-bf", "2", "-b_strategy", "0", "-pix_fmt", "yuv420p", "-c:a", "pcm_s16le",
            suffix: ".mov")
        let (frames, samples) = try play(clip, frames: count)
        #expect(frames == (0..<count).map { $0 / (25 * distance) * distance * 1_000_000_000 })
        #expect(samples.count == Int(count) * 1920 && isWhole(samples))
    }

    @Test("Files with one or two frames per second are played to their end, with all their audio", arguments: [1, 2])
    func slow(rate: Int) throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=\(rate):d=8", "-f", "lavfi", "-i", "sine=1000:d=8:r=48000",
            "-c:v", "libx264", "-pix_fmt", "yuv420p", "-c:a", "aac", suffix: ".mp4")
        let (frames, samples) = try play(clip, frames: Int64(8 * rate), rate: FrameRate(Int32(rate)))
        #expect(frames == (0..<Int64(8 * rate)).map { $0 * 1_000_000_000 / Int64(rate) })
        #expect(samples.count == 8 * 48_000 && isWhole(samples))
    }
}
