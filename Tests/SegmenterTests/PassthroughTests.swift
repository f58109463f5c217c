// SPDX-License-Identifier: Apache-2.0

import Archive
import FanOut
import Media
import PacketSamples
import TestSupport
import Testing

@testable import Segmenter

/// Recordings of copied packets.
@Suite struct PassthroughTests {
    /// One coding of a program.
    struct Coding: Sendable, CustomTestStringConvertible {
        let video: String
        let audio: String
        var options: [String] = []
        var name = "clip.mp4"
        var testDescription: String { "\(video) with \(audio) from \(name)" }
    }

    static let codings = [
        Coding(video: "libx264", audio: "aac"),
        Coding(video: "libx264", audio: "libmp3lame", name: "clip.flv"),
        Coding(video: "libx265", audio: "ac3", options: ["-preset", "ultrafast", "-x265-params", "log-level=none"]),
        Coding(video: "libsvtav1", audio: "libopus", options: ["-preset", "12"], name: "clip.mkv"),
    ]

    @Test(arguments: codings)
    func `Copied packets are recorded unchanged, and other programs can read them`(coding: Coding) throws {
        let (work, directory) = (try TemporaryDirectory(), try TemporaryDirectory())
        let clip = try CodedClip(
            video: coding.video, audio: coding.audio, options: coding.options, name: coding.name, in: work.path)
        #expect(Carriage.movie.refusal(of: clip.description) == nil)
        let recording = try Recording(clip.description, length: .duration(.seconds(60)), directory: directory)
        recording.record(clip.packets)
        let path = try #require(recording.finished.first)
        let recorded = try CodedClip(path: path)
        #expect(recorded.description.video?.codec == clip.description.video?.codec)
        #expect(recorded.description.audio?.codec == clip.description.audio?.codec)
        let (before, after) = (
            clip.description.video?.decoderConfiguration, recorded.description.video?.decoderConfiguration
        )
        #expect(before?.array == after?.array)
        // A packet before the first frame may be missing, because it is inaudible.
        let (heard, audio) = (recorded.payloads(.audio), clip.payloads(.audio))
        #expect(heard.count >= audio.count - 2)
        let isSame = recorded.payloads(.video) == clip.payloads(.video) && heard == audio.suffix(heard.count)
        #expect(isSame)
        let check = try run("ffmpeg", "-v", "error", "-nostdin", "-i", path, "-f", "null", "-")
        #expect(check.status == 0 && check.output.isEmpty, "\(check.output)")
    }

    @Test func `A recording with a variable frame rate keeps the times of its frames`() throws {
        let (work, directory) = (try TemporaryDirectory(), try TemporaryDirectory())
        let clip = try CodedClip(
            video: "libx264", audio: "aac",
            options: ["-vf", "select='not(eq(mod(n,7),3))*not(eq(mod(n,5),4))'", "-vsync", "vfr", "-bf", "2"],
            name: "clip.flv", in: work.path)
        let recording = try Recording(clip.description, length: .duration(.seconds(60)), directory: directory)
        recording.record(clip.packets)
        let recorded = try CodedClip(path: try #require(recording.finished.first))
        func times(_ clip: CodedClip) -> [Int64] {
            let frames = clip.packets.filter { $0.track == .video }.map { $0.programPts.nanoseconds / 1_000_000 }
            return frames.map { $0 - frames[0] }
        }
        #expect(times(recorded) == times(clip))
    }
}
