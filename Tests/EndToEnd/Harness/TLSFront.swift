// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// nginx as a TLS server (OpenSSL), which passes the decrypted data on to another port.
final class TLSFront: Sendable {
    /// The port on which nginx listens, on the loopback interface.
    let port: Int
    private let directory: TemporaryDirectory
    private let child: ChildProcess

    /// Starts nginx in front of the port `target`. `protocols` are names that nginx uses, such as `TLSv1.3`.
    init(
        _ certificate: Authority.Certificate, protocols: String = "TLSv1.2 TLSv1.3", target: Int
    ) async throws {
        let port = try Ports.free()
        directory = try TemporaryDirectory()
        let configuration = directory.file("nginx.conf")
        try """
        load_module "\(RTMPServer.modules)/ngx_stream_module.so";
        daemon off; master_process off; pid "\(directory.file("nginx.pid"))"; error_log stderr warn;
        events { worker_connections 64; }
        stream { server {
            listen 127.0.0.1:\(port) ssl; proxy_pass 127.0.0.1:\(target);
            ssl_certificate "\(certificate.certificate)"; ssl_certificate_key "\(certificate.key)";
            ssl_protocols \(protocols); ssl_session_tickets on;
        } }

        """.write(toFile: configuration, atomically: true, encoding: .utf8)
        let child = try ChildProcess(
            "nginx", try await RTMPServer.errorLog() + ["-p", directory.path, "-c", configuration])
        self.port = port
        self.child = child
        try await eventually("nginx listens with TLS at \(port)", within: .seconds(5)) {
            guard child.isRunning else { throw HarnessFailure("nginx did not start: \(child.errors)") }
            return Ports.isUsed(port, by: "tcp")
        }
    }

    /// Stops the server's process: its sockets stay open, but are not read.
    func freeze() { child.signal(SIGSTOP) }

    /// Undoes ``freeze()``.
    func thaw() { child.signal(SIGCONT) }
}
