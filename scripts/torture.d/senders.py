# SPDX-License-Identifier: Apache-2.0
"""How a case's stream comes to relay: each sender has an address for relay, and sends each unit when it is due."""
from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import flv
import ts
from stream import JOINS, Sent, Session

DATAGRAM = 7 * ts.PACKET
PATIENCE = 30.0


class Pace:
    """The case's own time: seconds since its first unit was due."""

    def __init__(self) -> None:
        self.begun: float | None = None
        self.latest = 0.0
        """How late a unit was sent at most, in seconds."""
        self.over = threading.Event()

    def begin(self) -> None:
        if self.begun is None:
            self.begun = time.monotonic()

    def now(self) -> float:
        return 0.0 if self.begun is None else time.monotonic() - self.begun

    def wait(self, due: float) -> None:
        """Waits until a unit is due, or the case is over."""
        rest = due - self.now()
        if rest > 0:
            self.over.wait(rest)
        else:
            self.latest = max(self.latest, -rest)
        if self.over.is_set():
            raise InterruptedError


def form_bytes(session: Session, form: str) -> Iterator[tuple[float, bytes]]:
    """The session as the bytes of an FLV file or a transport stream."""
    if form == "flv":
        return flv.stream(session.units)
    packets = list(ts.stream(session.units, session.changes))
    return iter(session.packets(packets) if session.packets else packets)


def joined(pieces: Iterable[tuple[float, bytes]], most: int) -> Iterator[tuple[float, bytes]]:
    """Pieces that are due at one time are sent as one, up to a size."""
    due, out = 0.0, b""
    for at, piece in pieces:
        if out and (at != due or len(out) + len(piece) > most):
            yield due, out
            out = b""
        due, out = at, out + piece
    if out:
        yield due, out


class Sender:
    """A transport. `address` is what relay is given."""

    joins = 0.0
    """Seconds that the sender is ahead of relay."""

    def __init__(self, sent: Sent, form: str, port: int, work: Path) -> None:
        self.sent, self.form, self.port, self.work = sent, form, port, work
        self.pace = Pace()
        self.threads: list[threading.Thread] = []
        self.failure = ""

    @property
    def address(self) -> str:
        raise NotImplementedError

    @property
    def last(self) -> Session:
        """The session that stays until the case is over."""
        return [session for session in self.sent.sessions if not session.intrudes][-1]

    def prepare(self) -> None:
        """What must be there before relay is."""

    def start(self) -> None:
        """Begins to send, when relay is ready for it."""

    def run(self, action, *arguments: object) -> None:  # type: ignore[no-untyped-def]
        def guarded() -> None:
            try:
                action(*arguments)
            except InterruptedError:
                pass
            except OSError as error:
                if any(isinstance(argument, Session) and argument.intrudes for argument in arguments):
                    return
                self.failure = self.failure or f"{type(error).__name__}: {error}"

        thread = threading.Thread(target=guarded, daemon=True)
        self.threads.append(thread)
        thread.start()

    def length(self) -> float:
        """When the last unit is due."""
        return max((unit.due for unit in self.sent.units), default=0.0)

    def stop(self) -> None:
        self.pace.over.set()
        for thread in self.threads:
            thread.join(5)


class File(Sender):
    """A file that relay reads."""

    def __init__(self, sent: Sent, form: str, port: int, work: Path) -> None:
        super().__init__(sent, form, port, work)
        self.path = sent.file or work / f"stream.{form}"

    @property
    def address(self) -> str:
        return str(self.path)

    def prepare(self) -> None:
        if not self.sent.file:
            pieces = form_bytes(self.sent.sessions[0], self.form)
            self.path.write_bytes(b"".join(piece for _, piece in pieces))

    def start(self) -> None:
        self.pace.begin()


class RTMP(Sender):
    """A publisher. It says as much as an encoder does, and hears nothing."""

    @property
    def address(self) -> str:
        return f"rtmp-listen://127.0.0.1:{self.port}/live/key"

    def start(self) -> None:
        link = self.connect()
        self.pace.begin()
        for number, session in enumerate(self.sent.sessions):
            self.run(self.publish, session, link if number == 0 else None, session is self.last)

    def connect(self) -> socket.socket:
        give_up = time.monotonic() + PATIENCE
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self.port), 5)
            except OSError:
                if time.monotonic() > give_up or self.pace.over.is_set():
                    raise
                time.sleep(0.05)

    def publish(self, session: Session, link: socket.socket | None, is_last: bool) -> None:
        units = session.units
        self.pace.wait(units[0].due)
        link = link or self.connect()
        with link:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.shake(link)
            link.settimeout(PATIENCE)
            messages, waiting = flv.Messages(), list(session.commands)
            for unit in units:
                self.pace.wait(unit.due)
                while waiting and unit.due >= waiting[0][0]:
                    stream, *words = waiting.pop(0)[1]
                    link.sendall(flv.command(stream, *words))
                link.sendall(b"".join(flv.chunks(message, 1, 65536) for message in messages.of(unit)))
            if is_last:
                self.pace.over.wait()
            elif not session.abrupt:
                link.sendall(flv.command(0, "deleteStream", 5.0, None, 1.0))

    def shake(self, link: socket.socket) -> None:
        link.sendall(b"\x03" + bytes(1536))
        answer = b""
        while len(answer) < 1 + 2 * 1536:
            part = link.recv(4096)
            if not part:
                raise ConnectionError("closed in the handshake")
            answer += part
        link.sendall(answer[1:1537])
        link.sendall(flv.chunks((1, 0, (65536).to_bytes(4, "big")), 0))
        for stream, words in ((0, ("connect", 1.0, {"app": "live", "tcUrl": f"rtmp://127.0.0.1:{self.port}/live"})),
                              (0, ("releaseStream", 2.0, None, "key")), (0, ("FCPublish", 3.0, None, "key")),
                              (0, ("createStream", 4.0, None)), (1, ("publish", 0.0, None, "key", "live"))):
            link.sendall(flv.command(stream, *words))
        threading.Thread(target=self.listen, args=(link,), daemon=True).start()

    @staticmethod
    def listen(link: socket.socket) -> None:
        """Takes what the server says, so that it can say more."""
        try:
            while link.recv(65536):
                pass
        except OSError:
            pass


def is_bound(port: int) -> bool:
    """Whether somebody takes datagrams at a port."""
    return f":{port:04X} " in Path("/proc/net/udp").read_text()


class UDP(Sender):
    """Datagrams of seven packets."""

    @property
    def address(self) -> str:
        return f"udp://127.0.0.1:{self.port}"

    def start(self) -> None:
        give_up = time.monotonic() + PATIENCE
        while not is_bound(self.port) and time.monotonic() < give_up:
            time.sleep(0.02)
        self.pace.begin()
        for session in self.sent.sessions:
            self.run(self.send, session)

    def send(self, session: Session) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
            for due, data in joined(form_bytes(session, "ts"), DATAGRAM):
                self.pace.wait(due)
                try:
                    link.sendto(data, ("127.0.0.1", self.port))
                except ConnectionRefusedError:
                    pass


class SRT(UDP):
    """A caller: srt-live-transmit."""

    @property
    def address(self) -> str:
        return f"srt://127.0.0.1:{self.port}?mode=listener"

    def send(self, session: Session) -> None:
        self.pace.wait(session.units[0].due)
        with (self.work / "srt.log").open("ab") as log:
            caller = subprocess.Popen(
                ["srt-live-transmit", "-q", "-a:no", "-chunk", "1316", "file://con",
                 f"srt://127.0.0.1:{self.port}?mode=caller&latency=200"],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=log)
        assert caller.stdin
        try:
            for due, data in joined(form_bytes(session, "ts"), 65536):
                self.pace.wait(due)
                caller.stdin.write(data)
                caller.stdin.flush()
            if session is self.last:
                self.pace.over.wait()
        except BrokenPipeError:
            pass  # turned away
        finally:
            caller.kill()
            caller.wait()


class Handler(BaseHTTPRequestHandler):
    """Answers with what the sender has at a path."""

    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:  # noqa: N802
        try:
            self.server.sender.answer(self)  # type: ignore[attr-defined]
        except OSError:
            pass

    def log_message(self, *_: object) -> None:
        pass


class HTTP(Sender):
    """A stream, or a file, as the answer to a request. The stream begins with the first request."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/{self.sent.file.name if self.sent.file else 'live.' + self.form}"

    def prepare(self) -> None:
        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.daemon_threads = True
        self.server.sender = self  # type: ignore[attr-defined]
        self.run(self.server.serve_forever, 0.05)

    def answer(self, request: Handler) -> None:
        if self.sent.file:
            self.pace.begin()
            self.give(request, self.sent.file.read_bytes())
            return
        if self.pace.begun is not None:
            request.send_error(404)
            return
        self.pace.begin()
        request.send_response(200)
        request.end_headers()
        try:
            for due, data in joined(form_bytes(self.sent.sessions[0], self.form), 65536):
                self.pace.wait(due)
                request.wfile.write(data)
                request.wfile.flush()
            self.pace.over.wait()
        except InterruptedError:
            pass

    @staticmethod
    def give(request: Handler, data: bytes) -> None:
        begin, status = 0, 200
        if (wanted := request.headers.get("Range", "")).startswith("bytes="):
            begin, status = int(wanted[6:].split("-")[0] or 0), 206
        request.send_response(status)
        request.send_header("Accept-Ranges", "bytes")
        request.send_header("Content-Length", str(max(0, len(data) - begin)))
        if status == 206:
            request.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        request.end_headers()
        request.wfile.write(data[begin:])

    def stop(self) -> None:
        self.pace.over.set()
        self.server.shutdown()
        self.server.server_close()
        super().stop()


class HLS(HTTP):
    """A live playlist, whose segments begin with keyframes."""

    joins = JOINS["hls"]
    LISTED = 6

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/live.m3u8"

    def prepare(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.lock = threading.Lock()
        super().prepare()
        self.pace.begin()
        self.run(self.publish)
        give_up = time.monotonic() + PATIENCE
        while self.pace.now() < self.joins or "live.m3u8" not in self.kept:
            if time.monotonic() > give_up:
                raise OSError("there is no playlist")
            time.sleep(0.05)

    def publish(self) -> None:
        segments = [segment for number, session in enumerate(self.sent.sessions)
                    for segment in cut(session, number)]
        target = round(max(end - begin for _, begin, end, _ in segments) + 0.5)
        listed: list[tuple[int, int, float]] = []
        for session, begin, end, data in segments:
            self.pace.wait(end)
            if listed and listed[-1][0] != session:
                listed = []
            number = listed[-1][1] + 1 if listed else 0
            listed = [*listed, (session, number, end - begin)][-self.LISTED:]
            lines = ["#EXTM3U", "#EXT-X-VERSION:3", f"#EXT-X-TARGETDURATION:{target}",
                     f"#EXT-X-MEDIA-SEQUENCE:{listed[0][1]}"]
            for owner, index, seconds in listed:
                lines += [f"#EXTINF:{seconds:.3f},", f"{owner}-{index}.ts"]
            with self.lock:
                self.kept[f"{session}-{number}.ts"] = data
                self.kept["live.m3u8"] = "\n".join([*lines, ""]).encode()

    def answer(self, request: Handler) -> None:
        with self.lock:
            data = self.kept.get(request.path.lstrip("/"))
        if data is None:
            request.send_error(404)
        else:
            self.give(request, data)


def cut(session: Session, number: int) -> list[tuple[int, float, float, bytes]]:
    """Segments of a second or more: session, begin and end when due, and the packets."""
    begins = [session.units[0].due]
    for unit in session.units:
        if unit.key and unit.due - begins[-1] >= 0.98:
            begins.append(unit.due)
    ends = [*begins[1:], session.units[-1].due + 0.04]
    packets = list(form_bytes(session, "ts"))
    found, at = [], 0
    for begin, end in zip(begins, ends):
        data = []
        while at < len(packets) and (packets[at][0] < end or end == ends[-1]):
            data.append(packets[at][1])
            at += 1
        found.append((number, begin, end, b"".join(data)))
    return found


class RTSP(Sender):
    """ffmpeg records into the server of scripts/live-inputs, and relay plays from there."""

    joins = JOINS["rtsp"]

    @property
    def address(self) -> str:
        return f"rtsp://127.0.0.1:{self.port}/live"

    def prepare(self) -> None:
        server = Path(__file__).parent.parent / "live-inputs.d" / "rtsp.py"
        with (self.work / "rtsp.log").open("ab") as log:
            self.server = subprocess.Popen([sys.executable, server, str(self.port)], stderr=log)
            self.connected().close()
            self.pusher = subprocess.Popen(
                ["ffmpeg", "-v", "error", "-f", "flv", "-i", "-", "-c", "copy", "-f", "rtsp",
                 "-rtsp_transport", "tcp", self.address], stdin=subprocess.PIPE, stderr=log)
        self.pace.begin()
        self.run(self.send)
        self.pace.over.wait(self.joins)

    def connected(self) -> socket.socket:
        give_up = time.monotonic() + PATIENCE
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self.port), 5)
            except OSError:
                if time.monotonic() > give_up:
                    raise
                time.sleep(0.05)

    def send(self) -> None:
        assert self.pusher.stdin
        # FLV has its headers in front, which an announcement needs.
        for due, data in joined(form_bytes(self.sent.sessions[0], "flv"), 65536):
            self.pace.wait(due)
            self.pusher.stdin.write(data)
            self.pusher.stdin.flush()
        self.pace.over.wait()

    def stop(self) -> None:
        super().stop()
        for process in (self.pusher, self.server):
            process.kill()
            process.wait()


ALL: dict[str, type[Sender]] = {
    "rtmp": RTMP, "srt": SRT, "udp": UDP, "rtsp": RTSP, "hls": HLS, "http": HTTP, "file": File}
