// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// A small web server that accepts what relay posts: webhooks at `/hook`, of which it refuses the first ones, and
/// questions about clients at `/may`, which it answers by the query of the stream. It checks signatures itself, with
/// Python's hmac.
final class HookServer: Sendable {
    /// A request that was posted.
    struct Request: Decodable {
        let status: Int
        let path: String
        /// Whether the signature and its timestamp are right.
        let isSigned: Bool
        let body: [String: Value]

        /// A text or a number.
        struct Value: Decodable, Equatable {
            let text: String

            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                text = try (try? container.decode(Int.self)).map(String.init) ?? container.decode(String.self)
            }
        }
    }

    let port: Int
    private let child: ChildProcess

    /// Starts a server, with TLS if `certificate` is given. It answers the first `failures` webhooks with 503.
    init(secret: String = "", failures: Int = 0, certificate: Authority.Certificate? = nil) async throws {
        port = try Ports.free()
        let pair = certificate.map { [$0.certificate, $0.key] } ?? []
        child = try ChildProcess("python3", ["-u", "-c", Self.script, "\(port)", secret, "\(failures)"] + pair)
        try await eventually("the hook server listens at \(port)", within: .seconds(5)) {
            guard child.isRunning else { throw HarnessFailure("python3 ended: \(child.errors)") }
            return Ports.isUsed(port, by: "tcp")
        }
    }

    /// All requests that were posted so far.
    var requests: [Request] {
        child.output.split(separator: "\n").compactMap {
            try? JSONDecoder().decode(Request.self, from: Data($0.utf8))
        }
    }

    private static let script = #"""
        import hashlib, hmac, http.server, json, ssl, sys, time
        PORT, SECRET, FAILURES = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])

        class Handler(http.server.BaseHTTPRequestHandler):
            failed = 0

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                stamp = self.headers.get("X-Relay-Timestamp", "")
                mine = hmac.new(SECRET.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
                signed = hmac.compare_digest("sha256=" + mine, self.headers.get("X-Relay-Signature", ""))
                signed = signed and abs(time.time() - int(stamp)) < 300
                facts = json.loads(body)
                if self.path == "/may":
                    good = (facts["event"], facts["query"]) in [("publish", "token=good"), ("play", "user=ann")]
                    status = 200 if good else 403
                elif Handler.failed < FAILURES:
                    Handler.failed += 1
                    status = 503
                else:
                    status = 204
                print(json.dumps({"status": status, "path": self.path, "isSigned": signed, "body": facts}))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *arguments): pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
        if len(sys.argv) > 4:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[4], sys.argv[5])
            server.socket = context.wrap_socket(server.socket, server_side=True)
        server.serve_forever()
        """#
}
