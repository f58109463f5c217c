// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Library
internal import Media
internal import NIOCore
internal import Synchronization

/// Responds to a request for a file or a part of it, with conditional requests, ranges, and a body that is sent in
/// pieces.
enum FileResponse {
    /// The size of the pieces in which a file is sent, in bytes: the memory that each reader takes.
    private static let piece = 256 << 10
    /// How long a reader may take to read a piece. It is long, because a player that has buffered enough pauses
    /// reading.
    private static let patience = Duration.seconds(60)
    /// The maximum number of concurrent readers.
    private static let mostReaders = 64

    private static let readers = Atomic(0)
    private static let turn = Atomic(0)
    /// The queues that read files. A disk that does not answer blocks only their threads.
    private static let queues = (0..<4).map { DispatchQueue(label: "relay.control.files.\($0)", qos: .utility) }

    /// Returns the response to `request`, a GET or a HEAD, for `file`.
    static func response(to request: ControlRequest, for file: ArchivedFile) throws(Refusal) -> Response {
        var headers: HTTPFields = [.contentType: file.type, .acceptRanges: "bytes"]
        headers[.cacheControl] = file.tag == nil ? "no-store" : "private, no-cache"
        headers[.contentDisposition] = request.query("download") == "1" ? disposition(file.name) : nil
        let tag = file.tag.map { "\"\($0)\"" }
        headers[.eTag] = tag
        let asked = request.request.headers
        if let tag, let known = asked[.ifNoneMatch], RequestHead.names(known, tag) {
            return Response(status: .notModified, headers: headers)
        }
        // `If-Range` names the version of the file that the client has. A client that has another version gets the
        // whole file, because a part would be useless to it (RFC 9110, 13.1.5).
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
                // If the file has become shorter, the connection is closed, so that the client does not take the
                // response as complete.
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

    /// The value of `Content-Disposition`: `attachment` with an ASCII name and with the exact name (RFC 6266, 4.3).
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

    /// An object that counts as one reader until it is released.
    private final class Seat: Sendable {
        private init() {}

        /// Counts a reader and creates its object, or throws if there are too many. An initializer must not throw here:
        /// `deinit` would run, too, and subtract the reader a second time.
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
