// SPDX-License-Identifier: Apache-2.0

import Media
import Synchronization
import TestSupport
import Testing

@testable import Channel

@Suite("Hashes of a program's frames")
struct HashedSinkTests {
    /// An encoder that records its calls as text, and fails at a given frame.
    private final class Next: ProgramSink {
        struct Broken: Error {}

        private let taken = Mutex<[String]>([])
        let failsAt: Int64?

        init(failsAt: Int64? = nil) { self.failsAt = failsAt }

        var calls: [String] { taken.withLock { $0 } }

        func encode(_ frame: VideoFrame, at index: Int64) throws {
            if index == failsAt { throw Broken() }
            taken.withLock { $0.append("frame \(index)") }
        }

        func encode(_ audio: AudioBuffer) throws { taken.withLock { $0.append("audio \(audio.position)") } }
        func finish() throws { taken.withLock { $0.append("end") } }
    }

    /// A frame whose rows have `padding` bytes behind them, with other values in each frame.
    private final class Padded: FrameStorage {
        private let bytes: SharedBytes
        private let (width, height, padding): (Int, Int, Int)

        init(width: Int, height: Int, padding: Int, fill: UInt8, pixel: (plane: Int, place: Int, value: UInt8)? = nil) {
            (self.width, self.height, self.padding) = (width, height, padding)
            let planes = [(width, height), (width / 2, height / 2), (width / 2, height / 2)]
            bytes = SharedBytes(
                planes.enumerated().flatMap { (plane, size) -> [UInt8] in
                    (0..<size.1).flatMap { row -> [UInt8] in
                        var line = (0..<size.0).map { UInt8(truncatingIfNeeded: plane * 50 + row * 7 + $0) }
                        if let pixel, pixel.plane == plane, pixel.place / size.0 == row {
                            line[pixel.place % size.0] = pixel.value
                        }
                        return line + [UInt8](repeating: fill, count: padding)
                    }
                })
        }

        func withPlanes<R>(_ body: (Planes) throws -> R) rethrows -> R {
            try bytes.withUnsafeBytes { (buffer) throws -> R in
                guard let base = buffer.baseAddress else { preconditionFailure("a frame has pixels") }
                let (luma, chroma) = ((width + padding) * height, (width / 2 + padding) * height / 2)
                return try body(
                    Planes(
                        y: .init(bytes: base, stride: width + padding),
                        u: .init(bytes: base + luma, stride: width / 2 + padding),
                        v: .init(bytes: base + luma + chroma, stride: width / 2 + padding)))
            }
        }
    }

    private func frame(
        padding: Int = 0, fill: UInt8 = 0, pixel: (plane: Int, place: Int, value: UInt8)? = nil
    ) -> VideoFrame {
        VideoFrame(
            pts: 0, timeBase: .milliseconds, width: 16, height: 8,
            storage: Padded(width: 16, height: 8, padding: padding, fill: fill, pixel: pixel))
    }

    /// The lines of a file without its first one, which is a comment.
    private func lines(_ directory: TemporaryDirectory, _ name: String) throws -> [[String]] {
        let text = String(decoding: try directory.bytes(name), as: UTF8.self)
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines.first?.hasPrefix("# frame") == true && text.hasSuffix("\n"))
        return lines.dropFirst().map { $0.split(separator: " ").map(String.init) }
    }

    @Test("Frames with the same pixels have the same hash whatever their row padding contains; others differ")
    func hashes() throws {
        let (directory, encoder) = (try TemporaryDirectory(), Next())
        let sink = try HashedSink(encoder, to: directory.path("hashes"), logger: quiet)
        let frames = [
            frame(), frame(padding: 16), frame(padding: 48, fill: 9), frame(pixel: (0, 127, 255)),
            frame(pixel: (1, 31, 255)), frame(pixel: (2, 31, 255)), frame(),
        ]
        for (index, frame) in frames.enumerated() { try sink.encode(frame, at: Int64(index) * 2) }
        try sink.finish()
        let lines = try lines(directory, "hashes")
        #expect(lines.map { $0[0] } == frames.indices.map { "\($0 * 2)" })
        let hashes = lines.map { $0[1] }
        #expect(hashes.allSatisfy { $0.count == 32 && $0.allSatisfy(\.isHexDigit) })
        #expect(Set([hashes[0], hashes[1], hashes[2], hashes[6]]).count == 1)
        #expect(Set(hashes[2...5]).count == 4)
    }

    @Test(
        "A program whose frames are hashed passes all frames and audio to the encoder, and fails if the encoder fails"
    )
    func passedOn() throws {
        let (directory, encoder) = (try TemporaryDirectory(), Next(failsAt: 500))
        let sink = try HashedSink(encoder, to: directory.path("hashes"), logger: quiet)
        let frame = frame()
        for index in 0..<500 as Range<Int64> {
            try sink.encode(AudioBuffer.silence(at: index * 1920, count: 1920, format: .program))
            try sink.encode(frame, at: index)
        }
        #expect(throws: Next.Broken.self) { try sink.encode(frame, at: 500) }
        try sink.finish()
        let expected = (0..<500).flatMap { ["audio \($0 * 1920)", "frame \($0)"] }
        #expect(encoder.calls == expected + ["end"])
        #expect(try lines(directory, "hashes").map { $0[0] } == (0...500).map { "\($0)" })
    }

    @Test("A reopened channel keeps its earlier files of frame hashes, and a file that cannot be created is refused")
    func files() throws {
        let directory = try TemporaryDirectory()
        for index in 0..<3 as Range<Int64> {
            let sink = try HashedSink(Next(), to: directory.path("hashes"), logger: quiet)
            try sink.encode(frame(), at: index)
            try sink.finish()
        }
        #expect(directory.files == ["hashes", "hashes.1", "hashes.2"])
        #expect(try directory.files.map { try lines(directory, $0).map { $0[0] } } == [["0"], ["1"], ["2"]])
        let path = directory.path("missing/hashes")
        let failure = #expect(throws: ChannelFailure.self) { try HashedSink(Next(), to: path, logger: quiet) }
        #expect(failure?.cause == .cannotRecord && failure?.attempt == .writeFrameHashes(path))
        #expect(failure?.description.hasPrefix("Hashes of frames cannot be written: ") == true && failure?.error != nil)
    }
}
