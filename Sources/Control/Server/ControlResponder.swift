// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import Media
internal import NIOCore

/// Responds to requests: finds the endpoint, checks the client's permission, and converts errors to problem details
/// (RFC 9457).
struct ControlResponder: HTTPResponder {
    typealias Context = ControlContext

    private static let methods: [HTTPRequest.Method] = [
        .get, .head, .post, .put, .patch, .delete, .options, .trace, .connect,
    ]

    /// How long the body of a request may take to arrive.
    private static let patience = TimeAmount.seconds(30)
    /// How long a refused client has to read the response.
    private static let teardown = TimeAmount.seconds(1)

    private let routes: RouterResponder<ControlContext>
    /// The endpoints that accept larger bodies than the others.
    private let roomy: [Endpoint]
    private let gate: RequestGate

    init(_ endpoints: [Endpoint], gate: RequestGate, logger: Logger) {
        let router = Router(context: ControlContext.self)
        let paths = Dictionary(grouping: endpoints, by: \.path)
        for (path, endpoints) in paths {
            var methods = Set(endpoints.map(\.method))
            if methods.contains(.get) { methods.insert(.head) }
            let allowed = methods.map(\.rawValue).sorted().joined(separator: ", ")
            for method in Self.methods {
                // HEAD is answered like GET, without the body (RFC 9110, 9.3.2).
                let endpoint =
                    endpoints.first { $0.method == method }
                    ?? (method == .head ? endpoints.first { $0.method == .get } : nil)
                router.on(RouterPath(gate.settings.basePath + path), method: method) { request, context in
                    guard let endpoint else {
                        return Problem.response(
                            status: .methodNotAllowed, detail: "This can be asked with \(allowed) only.",
                            headers: [.allow: allowed])
                    }
                    return await Self.answer(request, context, endpoint, gate, logger)
                }
            }
        }
        routes = router.buildResponder()
        (roomy, self.gate) = (endpoints.filter { $0.mostBytes > JSON.mostBytes }, gate)
    }

    func respond(to request: Request, context: ControlContext) async throws -> Response {
        var asked = request
        do throws(Refusal) {
            asked.body = try await Self.body(of: request, most: mostBytes(of: request, context), context.channel)
        } catch {
            // The connection is closed a second later, even if the rest of the body has not arrived by then.
            context.channel.close(in: Self.teardown)
            var response = Problem.response(error)
            response.headers[.connection] = "close"
            for field in Self.safety { response.headers.append(field) }
            return response
        }
        if !Self.methods.contains(request.method) {
            // A method that the router does not know is replaced by TRACE, which no path supports. The router then
            // answers with the status 405.
            var head = request.head
            head.method = .trace
            asked = Request(head: head, body: asked.body)
        }
        var response = try await routes.respond(to: asked, context: context)
        // The router's own response to an unknown path has no body. It is replaced by problem details.
        if response.status == .notFound, response.headers[.contentType] == nil {
            response = Problem.response(Refusal(.notFound, "There is nothing at this path."))
        }
        // The response to HEAD contains only the length of the body. A body without an end, such as the event stream,
        // has no length. The response then states the length 0, because the library would otherwise announce a chunked
        // body.
        if request.method == .head {
            let count = response.body.contentLength ?? 0
            response.body = ResponseBody(contentLength: count) { writer in try await writer.finish(nil) }
        }
        for field in Self.safety where response.headers[field.name] == nil { response.headers.append(field) }
        return response
    }

    /// Reads the whole body of `request` in advance. A body that is too large or takes too long delays only the client
    /// that sends it, and only for a limited time.
    private static func body(
        of request: Request, most: Int, _ channel: any Channel
    ) async throws(Refusal) -> RequestBody {
        let length = request.headers[.contentLength].flatMap { Int($0) }
        guard length ?? 0 > 0 || request.headers[.transferEncoding] != nil else { return request.body }
        let tooLarge = Refusal(.tooLarge, "The body is larger than \(most >> 10) KiB.")
        if let length, length > most { throw tooLarge }
        let watch = channel.close(in: patience)
        defer { watch.cancel() }
        do {
            return RequestBody(buffer: try await request.body.collect(upTo: most))
        } catch is NIOTooManyBytesError {
            throw tooLarge
        } catch {
            throw Refusal(.malformed, "The body ended before its end.")
        }
    }

    /// Returns the limit for the body. An endpoint's higher limit applies only to clients that may use this endpoint.
    /// Throws if the client may not: it is refused now, because a second admission would count a wrong token twice.
    private func mostBytes(of request: Request, _ context: ControlContext) throws(Refusal) -> Int {
        let length = request.headers[.contentLength].flatMap { Int($0) }
        let base = gate.settings.basePath
        guard length ?? .max > JSON.mostBytes, request.uri.path.hasPrefix(base),
            let endpoint = roomy.first(where: {
                $0.method == request.method && $0.isAt(String(request.uri.path.dropFirst(base.count)))
            })
        else { return JSON.mostBytes }
        _ = try gate.admit(request, of: context.peer, to: endpoint)
        return endpoint.mostBytes
    }

    private static func answer(
        _ request: Request, _ context: ControlContext, _ endpoint: Endpoint, _ gate: RequestGate, _ logger: Logger
    ) async -> Response {
        do {
            let role = try gate.admit(request, of: context.peer, to: endpoint)
            try DescribedQuery.check(request, for: endpoint)
            return try await endpoint.action(
                ControlRequest(request: request, context: context, role: role) {
                    gate.stillAdmits(request, to: endpoint)
                })
        } catch let failure as Refusal {
            return Problem.response(failure)
        } catch {
            logger.error("a request was not answered: \(error)", metadata: ["path": "\(endpoint.path)"])
            return Problem.response(status: .internalServerError, detail: "Something went wrong; the log says what.")
        }
    }

    /// Headers of every response. They forbid content sniffing, framing, use by pages of other origins, and caching
    /// unless the response allows it.
    private static let safety: HTTPFields = {
        var fields = HTTPFields()
        fields[.xContentTypeOptions] = "nosniff"
        fields[.cacheControl] = "no-store"
        fields[.contentSecurityPolicy] = "default-src 'none'; frame-ancestors 'none'"
        if let referrer = HTTPField.Name("Referrer-Policy") { fields[referrer] = "no-referrer" }
        if let sharing = HTTPField.Name("Cross-Origin-Resource-Policy") { fields[sharing] = "same-origin" }
        return fields
    }()
}
