// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Media
internal import Monitor
internal import NIOCore
internal import Program
internal import Status

/// Sends server-sent events (HTML, 9.2): events as they happen, and the status once per second.
struct EventStream: Sendable {
    private struct Hello: Encodable {
        let version: String
        let time: String
        let channels: [String]
        let lastEvent: UInt64
    }

    struct Meters: Encodable {
        let channel: String
        var momentary: Double?
        var shortTerm: Double?
        var integrated: Double?
        var truePeak: Double?
        /// `program` contains the peaks of each audio channel of a program with several sources, in dBFS, and `sources`
        /// contains the peaks of each source.
        var program: [Double]?
        var sources: [String: [Double]]?

        /// The loudness and the peaks in `report`; nil if the report has neither of them.
        init?(_ report: ChannelReport) {
            let (loudness, parts) = (report.status?.monitor?.loudness, report.status?.parts)
            if loudness == nil, parts == nil { return nil }
            channel = report.name
            (momentary, shortTerm) = (loudness?.momentary, loudness?.shortTerm)
            (integrated, truePeak) = (loudness?.integrated, loudness?.truePeak)
            guard let parts else { return }
            program = report.status.map { Self.tenths($0.program.levels) }
            let levels = parts.map { ($0.name, $0.levels) } + report.heardLevels.map { ($0.key, $0.value) }
            sources = Dictionary(levels) { first, _ in first }.mapValues(Self.tenths)
        }

        private static func tenths(_ levels: [Double]) -> [Double] { levels.map { ($0 * 10).rounded() / 10 } }
    }

    /// The interval between two checks for events, in milliseconds. A client that requests meters gets them at each
    /// check, so the interval is as long as meters need for an update. Without meters, it is so short that people
    /// hardly notice the delay.
    private static let step = (meters: 100, events: 250)
    /// The interval between two status messages, in milliseconds.
    private static let statusInterval = 1000
    /// The interval between two ping comments, in milliseconds. They tell a client that the server is alive.
    private static let pingInterval = 10_000

    let reports: ReportCache
    let log: EventLog

    /// Returns the response to `request`.
    func response(to request: ControlRequest) throws(Refusal) -> Response {
        var headers = HTTPFields()
        headers[.contentType] = "text/event-stream"
        headers[.cacheControl] = "no-cache, no-store"
        let asked = request.request.headers[.lastEventID] ?? request.query("lastEventId")
        let hasMeters = request.query("meters") == "1"
        let from: UInt64?
        if let asked {
            guard let number = UInt64(asked) else {
                throw Refusal(.malformed, "Last-Event-ID is the number of an event.")
            }
            from = number
        } else {
            from = nil
        }
        return Response(
            status: .ok, headers: headers,
            body: StreamedBody.body(of: request) { write in
                try await run(request, after: from, hasMeters: hasMeters, write)
            })
    }

    private func run(
        _ request: ControlRequest, after asked: UInt64?, hasMeters: Bool, _ write: (ByteBuffer) async throws -> Void
    ) async throws {
        var last = asked ?? log.last
        let hello = Hello(
            version: reports.version, time: reports.now.extended, channels: reports.names, lastEvent: log.last)
        try await write(Self.message("hello", JSON.encode(hello)))
        var next = NIODeadline.now()
        let length = hasMeters ? Self.step.meters : Self.step.events
        for step in 0... {
            var piece = ByteBuffer()
            for event in log.events(after: last) {
                piece.writeImmutableBuffer(Self.message("event", JSON.encode(event), id: event.id))
                last = event.id
            }
            if step * length % Self.statusInterval == 0 {
                for status in reports.encoded { piece.writeImmutableBuffer(Self.message("status", status)) }
            }
            if hasMeters { for meters in Self.meters(reports.all) { piece.writeImmutableBuffer(meters) } }
            if (step + 1) * length % Self.pingInterval == 0 { piece.writeString(": ping\n\n") }
            if piece.readableBytes > 0 { try await write(piece) }
            next = max(next + .milliseconds(Int64(length)), .now())
            try await request.rest(until: next)
        }
    }

    private static func meters(_ reports: [ChannelReport]) -> [ByteBuffer] {
        reports.compactMap { Meters($0).map { message("meters", JSON.encode($0)) } }
    }

    /// Returns one message. JSON contains no line breaks, which would split the message.
    private static func message(_ event: String, _ data: [UInt8], id: UInt64? = nil) -> ByteBuffer {
        var buffer = ByteBuffer()
        if let id { buffer.writeString("id: \(id)\n") }
        buffer.writeString("event: \(event)\ndata: ")
        buffer.writeBytes(data)
        buffer.writeString("\n\n")
        return buffer
    }
}

extension HTTPField.Name {
    fileprivate static var lastEventID: Self { HTTPField.Name("Last-Event-ID") ?? .eTag }
}
