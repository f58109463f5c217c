// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import Synchronization
import Testing

@testable import LibAV

/// Returns bytes in pieces of varying length with pauses between them, like a network connection.
final class Pieces: ByteStream {
    private let bytes: [UInt8]
    private let place = Mutex((offset: 0, turn: 0))
    /// The result of ``read(into:)`` after the last byte: 0 means that no byte is ready yet, nil means the end.
    private let last: Int?

    init(_ bytes: [UInt8], last: Int? = nil) { (self.bytes, self.last) = (bytes, last) }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        place.withLock { place in
            place.turn += 1
            if place.turn % 3 == 0 { return 0 }
            guard place.offset < bytes.count else { return last }
            let count = min(buffer.count, bytes.count - place.offset, 1 + place.turn % 1316)
            buffer.copyBytes(from: bytes[place.offset..<place.offset + count])
            place.offset += count
            return count
        }
    }
}

@Suite("Demuxing a stream of bytes")
struct ByteStreamTests {
    private let options = Demuxer.Options(format: "mpegts")

    private func stamps(_ demuxer: Demuxer) throws -> [String] {
        var stamps: [String] = []
        while let box = try demuxer.readPacket() {
            stamps.append("\(box.streamIndex) \(box.pts ?? -1) \(box.size)")
        }
        return stamps
    }

    @Test("A demuxer reads a stream that arrives piece by piece in the same way as a file, to its end")
    func pieces() throws {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=d=2:s=320x180:r=25", "-f", "lavfi", "-i", burst, "-c:v", "libx264", "-c:a",
            "aac", suffix: ".ts")
        let file = try Demuxer(url: clip.path, options: options, interrupter: Interrupter(), subject: "file")
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: clip.path)))
        let stream = try Demuxer(
            reading: Pieces(bytes), options: options, interrupter: Interrupter(), subject: "stream")
        #expect(stream.formatName == "mpegts" && stream.bestVideo != nil)
        let (expected, found) = (try stamps(file), try stamps(stream))
        #expect(expected.count > 40 && expected == found)
    }

    @Test("If a stream delivers no bytes, opening it fails at a deadline, or when it is interrupted")
    func silence() {
        let brief = Demuxer.Options(format: "mpegts", openTimeout: .milliseconds(50))
        let late = #expect(throws: AVFailure.self) {
            try Demuxer(reading: Pieces([], last: 0), options: brief, interrupter: Interrupter(), subject: "stream")
        }
        #expect(late?.isInterrupted == false)
        let interrupter = Interrupter()
        interrupter.interrupt()
        let interrupted = #expect(throws: AVFailure.self) {
            try Demuxer(reading: Pieces([], last: 0), options: options, interrupter: interrupter, subject: "stream")
        }
        #expect(interrupted?.isInterrupted == true)
    }
}
