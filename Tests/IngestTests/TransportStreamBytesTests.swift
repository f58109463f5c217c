// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import TestSupport
import Testing

@testable import LibAV

@Suite("Bytes of a transport stream whose coding changes")
struct TransportStreamBytesTests {
    private let options = Demuxer.Options(format: "mpegts", values: ["probesize": "60000"])

    /// Three seconds of a transport stream with the default PIDs.
    private func stream(_ video: String, _ audio: String) throws -> [UInt8] {
        let clip = try Clip(
            "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25:d=3", "-f", "lavfi", "-i", "sine=d=3:r=48000", "-c:v", video,
            "-preset", "ultrafast", "-g", "25", "-bf", "0", "-pix_fmt", "yuv420p", "-c:a", audio, suffix: ".ts")
        return [UInt8](try Data(contentsOf: URL(fileURLWithPath: clip.path)))
    }

    private func demuxer(_ bytes: any ByteStream) throws -> Demuxer {
        try Demuxer(reading: bytes, options: options, interrupter: Interrupter(), subject: "in")
    }

    /// The number of packets of each stream up to the end.
    private func counts(_ demuxer: Demuxer) throws -> [Int: Int] {
        var counts: [Int: Int] = [:]
        while let box = try demuxer.readPacket() { counts[box.streamIndex, default: 0] += 1 }
        return counts
    }

    /// `stream` with this version of its program map table.
    private func stream(_ stream: [UInt8], version: UInt8) -> [UInt8] {
        var result = stream
        for start in Swift.stride(from: 0, to: result.count, by: 188)
        where Int(result[start + 1] & 0x1F) << 8 | Int(result[start + 2]) == 0x1000 && result[start + 1] & 0x40 != 0 {
            let begin = start + 5 + (result[start + 3] & 0x20 == 0 ? 0 : 1 + Int(result[start + 4]))
            let end = begin + 3 + (Int(result[begin + 1] & 15) << 8 | Int(result[begin + 2]))
            result[begin + 5] = result[begin + 5] & 0xC1 | version << 1
            result.replaceSubrange(begin..<end, with: SpliceSection.sealed(Array(result[begin..<end - 4])))
        }
        return result
    }

    @Test(
        "If a PID changes its codec, the current demuxer gets an end of file, and a new demuxer gets all further bytes",
        arguments: [("libx265", "mp2", UInt8(1)), ("libx264", "ac3", 1), ("libx265", "aac", 0)])
    func change(video: String, audio: String, version: UInt8) throws {
        let (before, after) = (try stream("libx264", "aac"), try stream(video, audio))
        let expected = (try counts(demuxer(Pieces(before))), try counts(demuxer(Pieces(after))))
        let bytes = TransportStreamBytes(Pieces(before + stream(after, version: version)))
        let first = try demuxer(bytes)
        first.select([0, 1])
        #expect(try counts(first) == expected.0 && bytes.isChanged)
        bytes.resume()
        let second = try demuxer(bytes)
        let codecs = [video == "libx265" ? "hevc" : "h264", audio]
        #expect(second.streams.map(\.codecName) == codecs)
        #expect(try counts(second) == expected.1 && !bytes.isChanged)
    }

    @Test("A stream by HTTP ends at a change of its coding, and another demuxer continues on the same connection")
    func overHTTP() throws {
        let (before, after) = (try stream("libx264", "aac"), try stream("libx265", "aac"))
        let server = try LoopbackServer(answering: before + after)
        defer { withExtendedLifetime(server) {} }
        var options = Demuxer.Options(values: ["probesize": "60000"])
        options.endsAtCodingChange = true
        let first = try Demuxer(
            url: "http://127.0.0.1:\(server.port)/live", options: options, interrupter: Interrupter(), subject: "in")
        first.select([0, 1])
        let expected = (try counts(demuxer(Pieces(before))), try counts(demuxer(Pieces(after))))
        #expect(try counts(first) == expected.0)
        let bytes = try #require(first.transportStream)
        #expect(bytes.isChanged)
        bytes.resume()
        let second = try demuxer(bytes)
        #expect(second.streams.map(\.codecName) == ["hevc", "aac"])
        // libavformat reports the end of an answer of unknown length as an error.
        var found: [Int: Int] = [:]
        while let box = try? second.readPacket() { found[box.streamIndex, default: 0] += 1 }
        #expect(found == expected.1 && !bytes.isChanged)
    }

    @Test("A new program map table with the same coding does not end the stream for its demuxer")
    func sameCoding() throws {
        let part = try stream("libx264", "aac")
        let bytes = TransportStreamBytes(Pieces(part + stream(part, version: 1)))
        let found = try counts(demuxer(bytes))
        let once = try counts(demuxer(Pieces(part)))
        #expect(!bytes.isChanged && (found[0] ?? 0) > 2 * (once[0] ?? 0) - 2, "\(found) of twice \(once)")
    }

    @Test("A change of a stream that is not selected does not end the selected streams")
    func others() throws {
        let bytes = TransportStreamBytes(Pieces(try stream("libx264", "aac") + stream("libx264", "ac3")))
        let demuxer = try demuxer(bytes)
        demuxer.select([0])
        #expect(try counts(demuxer)[0] ?? 0 > 140 && !bytes.isChanged)
    }

    @Test("If two senders at one address alternate their program map tables, the demuxer is restarted only once")
    func twoSenders() throws {
        let (one, other) = (try stream("libx264", "aac"), try stream("libx265", "aac"))
        var mixed = Array(one.prefix(one.count / 2 / 188 * 188))
        let alone = mixed.count
        for start in Swift.stride(from: alone, to: min(one.count, alone + other.count), by: 188) {
            mixed += one[start..<start + 188] + other[start - alone..<start - alone + 188]
        }
        let bytes = TransportStreamBytes(Pieces(mixed))
        var changes = 0
        while changes < 5 {
            let demuxer = try demuxer(bytes)
            demuxer.select([0, 1])
            _ = try counts(demuxer)
            guard bytes.isChanged else { break }
            changes += 1
            bytes.resume()
        }
        #expect(changes == 1)
    }

    @Test("A damaged program map table is ignored")
    func damaged() throws {
        var after = try stream("libx265", "aac")
        for start in Swift.stride(from: 0, to: after.count, by: 188)
        where Int(after[start + 1] & 0x1F) << 8 | Int(after[start + 2]) == 0x1000 { after[start + 20] ^= 0xFF }
        let bytes = TransportStreamBytes(Pieces(try stream("libx264", "aac") + after))
        let demuxer = try demuxer(bytes)
        demuxer.select([0, 1])
        _ = try counts(demuxer)
        #expect(!bytes.isChanged)
    }

    @Test("Bytes that are not a transport stream are passed on unchanged", arguments: [UInt8(0x47), 0])
    func other(first: UInt8) {
        let content = [first] + (0..<5000).map { UInt8(truncatingIfNeeded: $0 * 7) }
        let bytes = TransportStreamBytes(Pieces(content))
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 700, alignment: 1)
        defer { buffer.deallocate() }
        var found: [UInt8] = []
        while let count = bytes.read(into: buffer) { found += buffer[..<count] }
        #expect(found == content)
    }
}
