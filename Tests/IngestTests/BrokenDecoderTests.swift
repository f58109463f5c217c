// SPDX-License-Identifier: Apache-2.0

import CFFmpeg
import Foundation
import Media
import TestSupport
import Testing

@testable import Ingest
@testable import LibAV

@Suite("Broken decoders", .timeLimit(.minutes(10)))
struct BrokenDecoderTests {
    /// A decoder whose calls all fail.
    private final class BrokenDecoder: PacketDecoder {
        static let failure = AVFailure(operation: "decode", subject: "test", code: relay_averror_invalid_data)

        func send(_ packet: PacketBox?) throws(AVFailure) { throw Self.failure }
        func receive() throws(AVFailure) -> Decoder.Output { throw Self.failure }
        func flush() {}
    }

    /// Plays a clip of 50 frames with audio into `sink`, with a broken decoder for the track `broken`.
    private func read(
        breaking broken: TrackKind, into sink: CollectingSink, loops: Bool = false, monitor: SourceMonitor
    ) throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=2", "-f", "lavfi", "-i", "sine=d=2:r=48000", "-c:v",
            "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-c:a", "aac", suffix: ".mp4")
        let input = try OpenedInput(
            InputLocation(clip.path), options: IngestOptions(loop: loops), monitor: monitor,
            makeDecoder: { (stream, threading, subject) throws(AVFailure) in
                if stream.kind == broken { return BrokenDecoder() }
                return try Decoder(stream, threading: threading, subject: subject)
            })
        let reader = try SourceReader(
            input, into: sink, video: input.description.video, audio: .program, loops: loops, start: 0,
            monitor: monitor)
        try reader.run()
    }

    @Test("If the audio decoder of a file fails, audio ends with one warning and video continues")
    func audio() throws {
        let (sink, log) = (CollectingSink(), CollectedLog())
        let monitor = SourceMonitor(logger: log.logger)
        try read(breaking: .audio, into: sink, monitor: monitor)
        #expect(sink.taken.frames.count == 50)
        #expect(sink.taken.audio.isEmpty)
        #expect(sink.taken.ended == [.video, .audio])
        #expect(log.lines.count == 1)
        #expect(log.lines.first?.contains("continues without audio") == true)
        #expect(monitor.status.lastError == BrokenDecoder.failure.description)
    }

    @Test("If the audio decoder of a looped file fails, audio counts as missing with one warning, and video continues")
    func loop() throws {
        let log = CollectedLog()
        let monitor = SourceMonitor(logger: log.logger)
        let sink = CollectingSink(frames: 130, audio: 1)
        Thread.detachNewThread {
            try? eventually { sink.taken.frames.count >= 130 }
            monitor.stop()
        }
        try read(breaking: .audio, into: sink, loops: true, monitor: monitor)
        #expect(sink.taken.frames.count == 130)
        #expect(sink.taken.starved.contains(.audio) && sink.taken.ended.isEmpty)
        #expect(log.lines.count == 1)
    }

    @Test("A missing library is reported as such when a decoder is made, so that the input is not opened again")
    func missingLibrary() throws {
        let clip = try Clip("-f", "lavfi", "-i", "sine=d=0.5:r=48000", "-c:a", "pcm_s16le", suffix: ".wav")
        let location = InputLocation(clip.path)
        let failures = [
            AVFailure(operation: "decode", subject: "test", missingLibrary: "libtest.so"), BrokenDecoder.failure,
        ]
        for failure in failures {
            let error = #expect(throws: IngestError.self) {
                try OpenedInput(
                    location, options: IngestOptions(), monitor: SourceMonitor(),
                    makeDecoder: { (_, _, _) throws(AVFailure) in throw failure })
            }
            #expect(error == IngestError.decoding(location.description, failure))
            #expect(error?.isPermanent == failure.isMissingLibrary)
        }
    }

    @Test("If the video decoder of a file fails, the input ends with an error")
    func video() throws {
        #expect(throws: IngestError.self) {
            try read(breaking: .video, into: CollectingSink(), monitor: SourceMonitor())
        }
    }
}
