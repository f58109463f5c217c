# SPDX-License-Identifier: Apache-2.0
"""What somebody hostile sends to relay's HTTP server: each thing must get the right status, or be let go, and cost little."""

import json
import os
import socket
import struct
import time

from crowd import unread

# relay's own limits (docs/http.md): connections at a time; seconds for a request's head or for nothing, and for reading.
MOST, IDLE, UNREAD = 256, 30, 60
# More than that by as much as a busy machine may take.
SPARE = 5
HALF_SENT, AT_ONCE, IN_A_ROW, DEAF = 200, 400, 10_000, 5
# An endless body: bytes a second, and how long it may go on after it was answered.
PACE, ENDLESS = 20 << 20, 10
PIECE = b"10000\r\n" + b"y" * 65536 + b"\r\n"


class Hostile:
    """One run of all of it against `relay`, told by `check`."""

    def __init__(self, relay, check):
        self.relay, self.check = relay, check
        self.host = b"Host: localhost\r\n"
        self.own = self.host + f"Authorization: Bearer {relay.token}\r\n".encode()

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.relay.port), 5)

    def exchange(self, data):
        """Sends bytes; the status, the head in lower case and the body of the answer; 0 if there is none."""
        with self.connect() as link:
            try:
                link.sendall(data)
            except ConnectionError:
                pass
            text = b""
            try:
                while b"\r\n\r\n" not in text and (piece := link.recv(65536)):
                    text += piece
                head, _, body = text.partition(b"\r\n\r\n")
                head = head.decode("latin-1").lower()
                length = int(head.partition("content-length:")[2].split("\r\n")[0] or 0)
                while len(body) < length and (piece := link.recv(65536)):
                    body += piece
            except OSError:
                return 0, "", b""
        return int(head.split(" ")[1]) if head.startswith("http/") else 0, head, body

    def ask(self, path, fields=b"", method=b"GET"):
        return self.exchange(method + b" " + path + b" HTTP/1.1\r\n" + self.own + fields + b"\r\n")

    def answers(self, seconds):
        """Whether an ordinary request is answered now, and how long that took."""
        begin = time.monotonic()
        try:
            status = self.ask(b"/healthz")[0]
        except OSError:
            status = 0
        took = time.monotonic() - begin
        return status == 200 and took <= seconds, f"{status} after {took:.2f} s"

    # ---- What is wrong at once ----

    def wrong(self):
        """Bodies and heads that are too large, and what is no HTTP."""
        post, kind = b"POST /v1/check HTTP/1.1\r\n", b"Content-Type: application/json\r\n"
        chunked = b"Transfer-Encoding: chunked\r\n"
        cases = [
            ("a body of 1 MB", post + self.own + kind + b"Content-Length: 1000000\r\n\r\n" + b"x" * 1_000_000, {413}),
            ("a body of 1 MB in chunks", post + self.own + kind + chunked + b"\r\n" + PIECE * 16 + b"0\r\n\r\n", {413}),
            ("a length that is no number", post + self.own + b"Content-Length: -1\r\n\r\n", {400}),
            ("a length beyond all numbers", post + self.own + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n", {400}),
            ("two lengths", post + self.own + b"Content-Length: 4\r\n" + chunked + b"\r\n0\r\n\r\n", {400}),
            ("a head of 70 kB", b"GET / HTTP/1.1\r\n" + self.host + b"X: " + b"a" * 70_000 + b"\r\n\r\n", {400, 431}),
            ("500 fields", b"GET / HTTP/1.1\r\n" + self.host + b"X: 1\r\n" * 500 + b"\r\n", {400, 431}),
            ("a path of 70 kB", b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n" + self.host + b"\r\n", {400, 414, 431}),
            ("TLS where there is none", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + bytes(200), {400}),
            ("HTTP/2's preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400, 505}),
            ("noise", bytes(range(256)) * 40, {400}),
            ("no host", b"GET /metrics HTTP/1.1\r\n\r\n", {400}),
            ("another's host", b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", {403}),
            ("no token", b"GET /metrics HTTP/1.1\r\n" + self.host + b"\r\n", {401}),
        ]
        for name, data, expected in cases:
            status = self.exchange(data)[0]
            self.check(status in expected, f"{name}: {status or 'no answer'}")

    def traversal(self):
        """Paths that lead out of where they begin."""
        below = f"/v1/channels/{self.relay.channel}/recordings/".encode()
        up = (b"../" * 12, b"%2e%2e/" * 12, b"..%2f" * 12, b"..%252f" * 12, b"....//" * 12, b"..\\" * 12, b"%00/")
        paths = [place + step + b"etc/passwd" for place in (b"/", below, b"/page.js/") for step in up]
        paths += [b"//etc/passwd", b"http://localhost/etc/passwd", b"file:///etc/passwd", below + b"L2V0Yy9wYXNzd2Q"]
        statuses, told = set(), False
        for path in paths:
            status, _, body = self.ask(path)
            statuses.add(status)
            told = told or b"root:" in body
        self.check(statuses <= {400, 404} and not told, f"{len(paths)} paths out of bounds: {sorted(statuses)}")

    def ranges(self):
        """Parts of a finished recording, compared with its file."""
        base = f"/v1/channels/{self.relay.channel}/recordings"
        files = json.loads(self.ask(base.encode())[2])["recordings"]
        file = next(file for file in files if file["state"] == "finished")
        path = f"{base}/{file['id']}".encode()
        with open(os.path.join(self.relay.recordings, file["name"]), "rb") as opened:
            whole = opened.read()
        size = len(whole)
        cases = [
            ("-5", 206, whole[-5:]),
            ("0-0", 206, whole[:1]),
            (f"{size - 1}-", 206, whole[-1:]),
            (f"10-{size + 1000}", 206, whole[10:]),
            (f"-{size + 1000}", 206, whole),
            (f"{size}-", 416, None),
            (f"{'9' * 40}-", 416, None),
            ("-0", 416, None),
            ("5-2", 200, whole),
            ("--5", 200, whole),
            ("0-1,4-5", 200, whole),
            (",".join(f"{place}-{place + 1}" for place in range(0, 4000, 4)), 200, whole),
        ]
        for text, expected, content in cases:
            status, head, body = self.ask(path, b"Range: bytes=" + text.encode() + b"\r\n")
            name = text if len(text) < 50 else f"{text[:12]}… and {text.count(',')} more"
            holds = status == expected and (content is None or body == content)
            if expected == 416:
                holds = holds and f"content-range: bytes */{size}" in head
            self.check(holds, f"bytes={name} of {size}: {status}, {len(body)} bytes")

    # ---- What does not end ----

    def half_sent(self):
        """Heads that are never finished, also drop by drop, and bodies that are promised and do not come."""
        post = b"POST /v1/check HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n"
        quiet = [b"GET /metrics HTTP/1.1\r\nHost: loc"] * HALF_SENT + [b"", b"\n", post + self.own + b"\r\n{"]
        slow = {
            "a head": b"GET /metrics HTTP/1.1\r\nX: ",
            "a body": post + self.own + b"\r\n{",
            "a body that was answered": post + self.host + b"\r\n{",
        }
        links = [self.connect() for _ in quiet]
        for link, data in zip(links, quiet):
            link.sendall(data)
        drops = {name: self.connect() for name in slow}
        for name, link in drops.items():
            link.sendall(slow[name])
        deaf = [unread(self.relay.port, self.relay.token) for _ in range(DEAF)]
        holds, words = self.answers(1)
        self.check(holds, f"beside {len(quiet)} requests that were half sent: {words}")
        begin, ended = time.monotonic(), {}
        while time.monotonic() - begin < IDLE + SPARE and len(ended) < len(drops):
            time.sleep(1)
            for name in drops.keys() - ended.keys():
                if self.is_over(drops[name]):
                    ended[name] = time.monotonic() - begin
        left = sum(self.relay.holds(link) for link in links)
        self.check(not left, f"{IDLE + SPARE} s later {left} of them are held")
        for name in drops:
            words = f"ended after {ended[name]:.0f} s" if name in ended else f"still taken after {IDLE + SPARE} s"
            self.check(name in ended, f"{name} of a byte a second: {words}")
        self.deaf(deaf, begin)
        for link in links + deaf + list(drops.values()):
            link.close()

    def deaf(self, links, begin):
        """Who asks for much and reads nothing, since `begin`."""
        early = sum(self.relay.holds(link) for link in links)
        while any(self.relay.holds(link) for link in links) and time.monotonic() - begin < UNREAD + SPARE:
            time.sleep(1)
        left = sum(self.relay.holds(link) for link in links)
        words = f"{early} were held after {IDLE + SPARE} s, {left} after {time.monotonic() - begin:.0f} s"
        self.check(not left, f"{len(links)} who ask for much and read nothing: {words}")

    @staticmethod
    def is_over(link):
        """Sends one byte more; whether relay has closed."""
        try:
            link.sendall(b"a")
            link.setblocking(False)
            while data := link.recv(65536):
                pass
            return data == b""
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            link.setblocking(True)

    def endless(self):
        """Bodies that never end, with a token and without."""
        for name, fields in (("with a token", self.own), ("without a token", self.host)):
            cpu, begin, sent = self.relay.cpu, time.monotonic(), 0
            with self.connect() as link:
                link.sendall(b"POST /v1/check HTTP/1.1\r\n" + fields + b"Content-Type: application/json\r\n")
                try:
                    link.sendall(b"Transfer-Encoding: chunked\r\n\r\n")
                    while (elapsed := time.monotonic() - begin) < ENDLESS:
                        link.sendall(PIECE)
                        sent += len(PIECE)
                        time.sleep(max(0, sent / PACE - elapsed))
                    words = "still taken"
                except OSError:
                    words = "ended"
            elapsed = time.monotonic() - begin
            used = (self.relay.cpu - cpu) / elapsed * 100
            words += f" after {elapsed:.1f} s and {sent >> 20} MiB, at {used:.0f} % of a core"
            self.check(elapsed < ENDLESS, f"an endless body {name}: {words}")

    # ---- Many ----

    def many(self):
        """More connections at a time than there may be."""
        before = self.relay.descriptors
        links = []
        for _ in range(AT_ONCE):
            link = socket.socket()
            link.setblocking(False)
            link.connect_ex(("127.0.0.1", self.relay.port))
            links.append(link)
        time.sleep(1)
        more = self.relay.descriptors - before
        self.check(more <= MOST + SPARE, f"{AT_ONCE} connections at a time: {more} are open (bound {MOST})")
        status = self.relay.local("/healthz")
        self.check(status == 200, f"meanwhile the Unix socket answers: {status}")
        for link in links:
            link.close()
        holds, words = self.answers(2)
        self.check(holds, f"and when they are gone, all are served: {words}")

    def in_a_row(self):
        """Connections one after the other: with a request, without one, and broken off."""
        before, memory, cpu, begin = self.relay.descriptors, self.relay.memory, self.relay.cpu, time.monotonic()
        request = b"GET /healthz HTTP/1.1\r\n" + self.host + b"Connection: close\r\n\r\n"
        wrong = 0
        for index in range(IN_A_ROW):
            with self.connect() as link:
                if index % 4 == 3:
                    # The system sends RST in place of FIN.
                    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                if index % 4 == 2:
                    continue
                link.sendall(request)
                if index % 4 < 2 and not link.recv(4096).startswith(b"HTTP/1.1 200 "):
                    wrong += 1
        took = time.monotonic() - begin
        self.check(not wrong, f"{IN_A_ROW} connections in a row in {took:.1f} s, {wrong} of them not served")
        print(f"        each cost {(self.relay.cpu - cpu) / IN_A_ROW * 1e6:.0f} µs of CPU time")
        time.sleep(1)
        after, grown = self.relay.descriptors, self.relay.memory - memory
        self.check(after - before <= SPARE, f"descriptors before and after: {before}, {after}")
        self.check(grown <= self.relay.most_grown, f"memory grew by {grown:.1f} MiB (bound {self.relay.most_grown})")

    def play(self):
        """All of it."""
        for part in (self.wrong, self.traversal, self.ranges, self.endless, self.many, self.in_a_row, self.half_sent):
            try:
                part()
            except (OSError, KeyError, StopIteration, ValueError) as problem:
                self.check(False, f"{part.__name__}: {type(problem).__name__}: {problem}")
