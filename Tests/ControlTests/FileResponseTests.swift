// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird
import HummingbirdCore
import Library
import Media
import TestSupport
import Testing

@testable import Control

/// Responses with files: RFC 9110, 13 and 14. The tests run one after the other, because the limit of readers applies
/// to the whole process.
@Suite("HTTP responses with files", .serialized)
struct FileResponseTests {
    private static let content = (0..<700_001).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }

    private func file(tag: String? = "t1", name: String = "a.mp4", size: Int64? = nil) -> ArchivedFile {
        let content = Self.content
        return ArchivedFile(name: name, type: "video/mp4", size: size ?? Int64(content.count), tag: tag) {
            offset, count in
            Array(content.dropFirst(Int(offset)).prefix(count))
        }
    }

    private func answer(
        _ headers: HTTPFields = [:], method: HTTPRequest.Method = .get, path: String = "/file",
        file: ArchivedFile? = nil
    ) throws -> Response {
        try FileResponse.response(to: .sample(method, path, headers), for: file ?? self.file())
    }

    @Test("A file request without a range gets the complete file, with its type, ETag and length")
    func whole() throws {
        let response = try answer()
        #expect(response.status == .ok && response.body.contentLength == Self.content.count)
        #expect(response.headers[.contentType] == "video/mp4" && response.headers[.acceptRanges] == "bytes")
        #expect(response.headers[.eTag] == "\"t1\"" && response.headers[.cacheControl] == "private, no-cache")
        #expect(response.headers[.contentRange] == nil && response.headers[.contentDisposition] == nil)
    }

    @Test("A file that is still being written is sent without an ETag, and must not be cached")
    func growing() throws {
        let response = try answer([.ifNoneMatch: "*"], file: file(tag: nil))
        #expect(response.status == .ok && response.headers[.eTag] == nil)
        #expect(response.headers[.cacheControl] == "no-store")
    }

    @Test(
        "A byte range is sent as partial content, with its Content-Range and ETag",
        arguments: [
            ("bytes=0-0", "bytes 0-0/700001", 1), ("bytes=700000-", "bytes 700000-700000/700001", 1),
            ("bytes=-10", "bytes 699991-700000/700001", 10), ("bytes=5-14", "bytes 5-14/700001", 10),
            ("bytes=699999-9999999", "bytes 699999-700000/700001", 2),
        ])
    func part(range: String, place: String, length: Int) throws {
        for method in [HTTPRequest.Method.get, .head] {
            let response = try answer([.range: range], method: method)
            #expect(response.status == .partialContent && response.body.contentLength == length)
            #expect(response.headers[.contentRange] == place && response.headers[.eTag] == "\"t1\"")
        }
    }

    @Test("A file request with a range outside of the file gets status 416 with the file's length")
    func unsatisfiable() throws {
        for range in ["bytes=700001-", "bytes=-0", "bytes=99999999999999999999-"] {
            let response = try answer([.range: range])
            #expect(response.status == .rangeNotSatisfiable)
            #expect(response.headers[.contentRange] == "bytes */700001")
        }
    }

    @Test("A file request whose If-None-Match contains the file's ETag gets status 304 without content")
    func notModified() throws {
        for known in ["\"t1\"", "W/\"t1\"", "*", "\"a\", \"t1\"", "\"a\",\"t1\"", " \"t1\" ", "\"a\" , W/\"t1\""] {
            let response = try answer([.ifNoneMatch: known, .range: "bytes=0-5"])
            #expect(response.status == .notModified && response.headers[.eTag] == "\"t1\"", "\(known)")
            #expect(response.body.contentLength == 0)
        }
        for other in ["\"t2\"", "t1", "\"T1\"", "", ",", "W/", "\"t1"] {
            #expect(try answer([.ifNoneMatch: other]).status == .ok, "\(other)")
        }
    }

    @Test("If If-Range is not the file's ETag, the range is ignored, and the complete file is sent")
    func otherContent() throws {
        #expect(try answer([.range: "bytes=0-5", .ifRange: "\"t1\""]).status == .partialContent)
        for other in ["\"t2\"", "W/\"t1\"", "Sat, 21 Nov 2026 14:03:10 GMT", ""] {
            let response = try answer([.range: "bytes=0-5", .ifRange: other])
            #expect(response.status == .ok && response.body.contentLength == Self.content.count, "\(other)")
        }
        let growing = try answer([.range: "bytes=0-5", .ifRange: "\"t1\""], file: file(tag: nil))
        #expect(growing.status == .ok)
        // In this case even an unsatisfiable range is not reported.
        #expect(try answer([.range: "bytes=800000-", .ifRange: "\"t2\""]).status == .ok)
    }

    @Test(
        "A downloaded file's name is given as ASCII and as percent-encoded UTF-8, whatever it contains",
        arguments: [
            "a.mp4", "Ä b\"c\r\n.mp4", "\u{1F3A5};x=1.mp4", "100%.mp4", "a'b\\.mp4", "\u{0}\u{7F}", "", "..",
        ])
    func disposition(name: String) throws {
        let response = try answer(path: "/file?download=1", file: file(name: name))
        let text = try #require(response.headers[.contentDisposition])
        #expect(text.utf8.allSatisfy { (0x20..<0x7F).contains($0) }, "\(text.debugDescription)")
        #expect(text.hasPrefix("attachment; filename=\"") && text.filter { $0 == "\"" }.count == 2)
        let mark = try #require(text.firstRange(of: "filename*=UTF-8''"))
        #expect(decoded(text[mark.upperBound...]) == Array(name.utf8))
        for path in ["/file", "/file?download=0", "/file?download", "/file?other=1"] {
            #expect(try answer(path: path, file: file(name: name)).headers[.contentDisposition] == nil)
        }
    }

    /// Returns the bytes of a percent-encoded text.
    private func decoded(_ text: Substring) -> [UInt8] {
        var (rest, bytes) = (Array(text.utf8)[...], [UInt8]())
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    @Test("A byte range of a file is sent byte for byte, in pieces of at most 256 KiB")
    func bytes() async throws {
        var random = SeededRandom()
        for round in 0..<20 {
            let first = Int.random(in: 0..<Self.content.count, using: &random)
            let last =
                round % 2 == 0 ? Self.content.count - 1 : Int.random(in: first..<Self.content.count, using: &random)
            let response = try answer([.range: "bytes=\(first)-\(last)"])
            let collected = CollectedBody()
            try await response.body.write(CollectedBody.Writer(body: collected))
            let isSame = collected.bytes == Array(Self.content[first...last])
            #expect(isSame, "\(first)-\(last)")
            #expect(collected.isFinished && collected.sizes.allSatisfy { $0 <= 256 << 10 })
        }
    }

    @Test("A HEAD request for a file gets the length without content, and does not count as a reader")
    func head() async throws {
        let collected = CollectedBody()
        var responses: [Response] = []
        for _ in 0..<100 { responses.append(try answer(method: .head)) }
        for response in responses.prefix(1) { try await response.body.write(CollectedBody.Writer(body: collected)) }
        #expect(collected.bytes.isEmpty && responses.allSatisfy { $0.body.contentLength == Self.content.count })
    }

    @Test("If a file becomes shorter while it is sent, the response is aborted, so that it does not look complete")
    func shorter() async throws {
        let response = try answer(file: file(size: 900_000))
        let collected = CollectedBody()
        await #expect(throws: Refusal.self) {
            try await response.body.write(CollectedBody.Writer(body: collected))
        }
        #expect(!collected.isFinished && collected.bytes.count == Self.content.count)
    }

    @Test("At most 64 files are sent at a time, and further requests are refused until one of these ends")
    func readers() throws {
        var held: [Response] = []
        for _ in 0..<64 { held.append(try answer()) }
        for _ in 0..<3 {
            let refusal = #expect(throws: Refusal.self) { try answer() }
            #expect(refusal?.kind == .unavailable)
        }
        // A request that needs no reader is answered nevertheless.
        #expect(try answer([.ifNoneMatch: "*"]).status == .notModified)
        #expect(try answer([.range: "bytes=-0"]).status == .rangeNotSatisfiable)
        held.removeLast()
        held.append(try answer())
        #expect(throws: Refusal.self) { try answer() }
        held = []
        #expect(try answer().status == .ok)
    }
}
