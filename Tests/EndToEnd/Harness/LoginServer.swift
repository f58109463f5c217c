// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// An RTMP server that accepts only `bob` with the password `correct-horse`, by the login of Adobe or of Limelight.
///
/// No server in Debian requires such a login, so this is a script. It computes the answers itself, with Python's
/// hashlib. A test shows that FFmpeg, which has another implementation, can also log in.
final class LoginServer: Sendable {
    enum Scheme: String, CaseIterable { case adobe, llnw }

    let port: Int
    private let child: ChildProcess

    init(_ scheme: Scheme) async throws {
        port = try Ports.free()
        child = try ChildProcess("python3", ["-u", "-c", Self.script, "\(port)", scheme.rawValue])
        try await eventually("the login server listens at \(port)", within: .seconds(5)) {
            guard child.isRunning else { throw HarnessFailure("python3 ended: \(child.errors)") }
            return Ports.isUsed(port, by: "tcp")
        }
    }

    /// One line for each connection that ended: the answer, or how many frames were published.
    var lines: [String] { child.output.split(separator: "\n").map(String.init) }

    private static let script = #"""
        import base64, hashlib, os, socket, struct, sys
        PORT, SCHEME, USER, PASSWORD = int(sys.argv[1]), sys.argv[2], "bob", "correct-horse"
        SALT, OPAQUE, NONCE = "c2FsdA==", "b3BhcXVl", "bm9uY2U="

        def b64(text): return base64.b64encode(hashlib.md5(text.encode()).digest()).decode()
        def hexa(text): return hashlib.md5(text.encode()).hexdigest()
        def text(value): return b"\x02" + struct.pack(">H", len(value)) + value.encode()
        def number(value): return b"\x00" + struct.pack(">d", value)
        def info(**fields):
            pairs = b"".join(struct.pack(">H", len(k)) + k.encode() + text(v) for k, v in fields.items())
            return b"\x03" + pairs + b"\x00\x00\x09"

        def verdict(app):
            query = dict(p.split("=", 1) for p in app.partition("?")[2].split("&") if "=" in p)
            reject = "[ AccessManager.Reject ] : "
            if "user" not in query: return reject + "[ code=403 need auth; authmod=%s ] : " % SCHEME
            if query["user"] != USER: return reject + "[ authmod=%s ] : ?reason=nosuchuser" % SCHEME
            if "response" not in query:
                if SCHEME == "adobe": rest = "salt=%s&challenge=%s&opaque=%s" % (SALT, OPAQUE, OPAQUE)
                else: rest = "nonce=%s" % NONCE
                return reject + "[ authmod=%s ] : ?reason=needauth&user=%s&%s" % (SCHEME, USER, rest)
            if SCHEME == "adobe":
                good = b64(b64(USER + SALT + PASSWORD) + OPAQUE + query["challenge"])
            else:
                second = hexa("publish:/" + app.partition("?")[0] + "/_definst_")
                first = hexa(USER + ":live:" + PASSWORD)
                good = hexa(":".join([first, NONCE, query["nc"], query["cnonce"], "auth", second]))
            if query["response"] == good: return None
            return reject + "[ authmod=%s ] : ?reason=authfailed&opaque=%s" % (SCHEME, OPAQUE)

        class Peer:
            def __init__(self, connection):
                self.connection, self.size, self.streams, self.frames = connection, 128, {}, 0
            def read(self, count):
                data = b""
                while len(data) < count:
                    part = self.connection.recv(count - len(data))
                    if not part: raise EOFError
                    data += part
                return data
            def shake(self):
                first = self.read(1537)
                own = b"\0" * 8 + os.urandom(1528)
                self.connection.sendall(b"\x03" + own + first[1:])
                self.read(1536)
            def send(self, body, stream=0):
                head = b"\x03" + b"\0\0\0" + struct.pack(">I", len(body))[1:] + b"\x14" + struct.pack("<I", stream)
                parts = [body[i:i + 128] for i in range(0, len(body), 128)]
                self.connection.sendall(head + b"\xc3".join(parts))
            def message(self):
                while True:
                    byte = self.read(1)[0]
                    kind, number_ = byte >> 6, byte & 0x3F
                    if number_ == 0: number_ = 64 + self.read(1)[0]
                    state = self.streams.setdefault(number_, {"body": b"", "extended": False})
                    head = self.read([11, 7, 3, 0][kind])
                    if kind < 3: state["extended"] = head[:3] == b"\xff\xff\xff"
                    if kind < 2: state["length"], state["type"] = int.from_bytes(head[3:6], "big"), head[6]
                    if state["extended"]: self.read(4)
                    state["body"] += self.read(min(self.size, state["length"] - len(state["body"])))
                    if len(state["body"]) == state["length"]:
                        body, state["body"] = state["body"], b""
                        if state["type"] == 1: self.size = int.from_bytes(body[:4], "big")
                        return state["type"], body

        def command(body):
            length = int.from_bytes(body[1:3], "big")
            return body[3:3 + length].decode(), struct.unpack(">d", body[4 + length:12 + length])[0]
        def field(body, name):
            start = body.index(struct.pack(">H", len(name)) + name.encode() + b"\x02") + len(name) + 3
            return body[start + 2:start + 2 + int.from_bytes(body[start:start + 2], "big")].decode()

        def serve(peer):
            peer.shake()
            while True:
                kind, body = peer.message()
                if kind == 9: peer.frames += 1
                if kind != 20: continue
                name, transaction = command(body)
                if name == "connect":
                    refusal = verdict(field(body, "app"))
                    if refusal:
                        peer.send(text("_error") + number(transaction) + b"\x05" + info(
                            level="error", code="NetConnection.Connect.Rejected", description=refusal))
                        return refusal
                    if field(body, "app") != field(body, "tcUrl").split("/", 3)[3]: return "tcUrl differs"
                    peer.send(text("_result") + number(transaction) + b"\x05" + info(
                        level="status", code="NetConnection.Connect.Success"))
                elif name == "createStream": peer.send(text("_result") + number(transaction) + b"\x05" + number(1))
                elif name == "publish":
                    peer.send(text("onStatus") + number(0) + b"\x05" + info(
                        level="status", code="NetStream.Publish.Start", description="go"), 1)

        server = socket.create_server(("127.0.0.1", PORT))
        while True:
            connection, _ = server.accept()
            peer = Peer(connection)
            try: print(serve(peer))
            except (EOFError, ConnectionError): print("frames", peer.frames)
            connection.close()
        """#
}
