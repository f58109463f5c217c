# SPDX-License-Identifier: Apache-2.0
"""Senders that relay asks by HTTP: a stream or a file as one answer, and a live playlist."""
from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from sender import PATIENCE, Sender, form_bytes, joined
from stream import JOINS, Session


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
