// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Library
internal import Media
internal import NIOCore
internal import Synchronization

/// Answers a request for a file, or a part of it: conditions, ranges, and bytes a few at a time.
enum FileResponse {
    /// Bytes that are in memory for one reader.
    private static let piece = 256 << 10
    /// How long a reader may take for a piece; what plays reads on when it has shown some.
    private static let patience = Duration.seconds(60)
    /// Readers at a time.
    private static let mostReaders = 64

    private static let readers = Atomic(0)
    private static let turn = Atomic(0)
    /// A disk that does not answer keeps these busy, and no other thread.
    private static let queues = (0..<4).map { DispatchQueue(label: "relay.control.files.\($0)", qos: .utility) }

    /// The answer to `request`, which is a GET or a HEAD, for `file`.
    static func response(to request: ControlRequest, for file: ArchivedFile) throws(Refusal) -> Response {
        var headers: HTTPFields = [.contentType: file.type, .acceptRanges: "bytes"]
        headers[.cacheControl] = file.tag == nil ? "no-store" : "private, no-cache"
        headers[.contentDisposition] = request.query("download") == "1" ? disposition(file.name) : nil
        let tag = file.tag.map { "\"\($0)\"" }
        headers[.eTag] = tag
        let asked = request.request.headers
        if let tag, let known = asked[.ifNoneMatch], matches(known, tag) {
            return Response(status: .notModified, headers: headers)
        }
        // A part of another content than the one that is known is of no use (RFC 9110, 13.1.5).
        let isSame = asked[.ifRange].map { $0 == tag } ?? true
        switch isSame ? ByteRange(asked[.range], size: file.size) : .whole {
        case .whole:
            return try body(0..<file.size, of: file, request, .ok, headers)
        case .part(let range):
            headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.size)"
            return try body(range, of: file, request, .partialContent, headers)
        case .unsatisfiable:
            return Problem.response(
                status: .rangeNotSatisfiable, detail: "The file has \(file.size) bytes.",
                headers: [.contentRange: "bytes */\(file.size)", .acceptRanges: "bytes"])
        }
    }

    private static func matches(_ field: String, _ tag: String) -> Bool {
        field.split(separator: ",").contains { part in
            let part = part.trimmingPrefix { $0 == " " }.prefix { $0 != " " }
            return part == "*" || (part.hasPrefix("W/") ? part.dropFirst(2) : part) == tag
        }
    }

    private static func body(
        _ range: Range<Int64>, of file: ArchivedFile, _ request: ControlRequest, _ status: HTTPResponse.Status,
        _ headers: HTTPFields
    ) throws(Refusal) -> Response {
        guard request.request.method != .head else {
            let body = ResponseBody(contentLength: range.count) { writer in try await writer.finish(nil) }
            return Response(status: status, headers: headers, body: body)
        }
        let seat = try Seat.taken()
        let body = StreamedBody.body(of: request, length: range.count, patience: patience) { write in
            var position = range.lowerBound
            while position < range.upperBound {
                let bytes = try await read(
                    file, at: position, count: Int(min(Int64(piece), range.upperBound - position)))
                // The file is shorter than it was: the connection ends, so that the client does not take it for the
                // whole.
                guard !bytes.isEmpty else { throw Refusal(.unavailable, "The file ends too early.") }
                position += Int64(bytes.count)
                try await write(ByteBuffer(bytes: bytes))
            }
            withExtendedLifetime(seat) {}
        }
        return Response(status: status, headers: headers, body: body)
    }

    private static func read(_ file: ArchivedFile, at offset: Int64, count: Int) async throws -> [UInt8] {
        let queue = queues[turn.wrappingAdd(1, ordering: .relaxed).newValue & (queues.count - 1)]
        return try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try file.read(offset, count) }) }
        }
    }

    /// `attachment` with a name in ASCII, and with the very name (RFC 6266, 4.3).
    private static func disposition(_ name: String) -> String {
        let plain = name.unicodeScalars.map { scalar -> Character in
            scalar.isASCII && (scalar.properties.isAlphabetic || "0123456789._- ".unicodeScalars.contains(scalar))
                ? Character(scalar) : "_"
        }
        let safe = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-".utf8)
        let exact = name.utf8.map { byte -> String in
            if safe.contains(byte) { return String(Unicode.Scalar(byte)) }
            let digits = String(byte, radix: 16, uppercase: true)
            return "%" + (digits.count == 1 ? "0" : "") + digits
        }
        return "attachment; filename=\"\(String(plain))\"; filename*=UTF-8''\(exact.joined())"
    }

    /// The place of one reader, given back when nothing refers to it any more.
    private final class Seat: Sendable {
        private init() {}

        /// Counts the place before it exists: an error in an initializer runs `deinit`, too.
        static func taken() throws(Refusal) -> Seat {
            guard readers.wrappingAdd(1, ordering: .relaxed).newValue <= mostReaders else {
                readers.subtract(1, ordering: .relaxed)
                throw Refusal(.unavailable, "Too many files are being read. Try again.")
            }
            return Seat()
        }

        deinit { readers.subtract(1, ordering: .relaxed) }
    }
}
