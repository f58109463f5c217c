// SPDX-License-Identifier: Apache-2.0

import Foundation
import Ingest
import Media
import TestSupport
import Testing

@Suite("Audio samples that are invalid or too loud")
struct RepairedSamplesTests {
    /// Expressions of FFmpeg for invalid samples, each with the expected result. The first of these samples is number
    /// 24000, and two valid ones follow each.
    private static let bad: [(expression: String, result: Float)] = [
        ("0/0", 0), ("1/0", 0), ("-1/0", 0), ("1e30", 64), ("-1e30", -64), ("100", 64), ("-3", -3),
    ]

    /// A second of a tone of amplitude 0.5 that contains the ``bad`` samples.
    private func clip(_ codec: String, _ suffix: String) throws -> Clip {
        let tone = "0.5*sin(2*PI*1000*t)"
        let expression = Self.bad.enumerated().reduce(tone) { rest, bad in
            "if(eq(n,\(24_000 + bad.offset * 3)),\(bad.element.expression),\(rest))"
        }
        return try Clip("-f", "lavfi", "-i", "aevalsrc='\(expression)':s=48000:d=1", "-c:a", codec, suffix: suffix)
    }

    @Test(
        "Invalid audio samples become silent or are limited, other samples are unchanged, and this is logged once",
        arguments: [("pcm_f32le", ".wav"), ("pcm_f32le", ".mkv"), ("pcm_f32be", ".mov"), ("pcm_f64le", ".mkv")])
    func repaired(codec: String, suffix: String) throws {
        let clip = try clip(codec, suffix)
        let (sink, log) = (CollectingSink(), CollectedLog())
        let source = try SourceOpener.open(InputLocation(clip.path), options: IngestOptions(), logger: log.logger)
        source.start(into: sink, video: nil, audio: .program)
        #expect(sink.waitUntilDone())
        source.stop()
        let audio = sink.taken.audio
        #expect(audio.count == 48_000)
        #expect(audio.allSatisfy { $0.isFinite && abs($0) <= 64 })
        #expect(Self.bad.indices.map { audio[24_000 + $0 * 3] } == Self.bad.map(\.result))
        for index in 0..<48_000 where !Self.bad.indices.contains(where: { 24_000 + $0 * 3 == index }) {
            let tone = Float(0.5 * sin(2 * .pi * 1000 * Double(index) / 48_000))
            #expect(abs(audio[index] - tone) < 1e-4, "\(index)")
        }
        #expect(source.status.decodeErrors > 0)
        #expect(log.lines(containing: "not numbers").count == 1 && log.lines.count == 1, "\(log.lines)")
        #expect(log.lines(containing: clip.path).count == 1)
    }
}
