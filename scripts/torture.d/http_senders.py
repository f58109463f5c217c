# SPDX-License-Identifier: Apache-2.0
"""Senders that relay asks by HTTP: a stream or a file as one answer, and a live playlist."""
from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import fmp4
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

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            pass  # a link resets connections

    def log_message(self, *_: object) -> None:
        pass


class HTTP(Sender):
    """A stream, or a file, as the answer to a request. The stream begins with the first request."""

    is_called = True

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.door}/{self.sent.file.name if self.sent.file else 'live.' + self.form}"

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
        session = self.sent.sessions[0]
        if self.pace.begun is not None:
            session = replace(session, units=self.rest(session.units))
            if not session.units:
                request.send_error(404)
                return
        self.pace.begin()
        request.send_response(200)
        request.end_headers()
        try:
            for due, data in joined(form_bytes(session, self.form), 65536):
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
    """A live playlist, whose segments begin with keyframes: of packets, or of fragmented MP4."""

    joins = JOINS["hls"]
    LISTED = 6
    fails_until = 0.0
    """Until when the server fails; 0 as long as it has not failed."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.door}/live.m3u8"

    def prepare(self) -> None:
        self.kept = {f"{number}-init-{index}.mp4": data for number, session in enumerate(self.sent.sessions)
                     for index, data in enumerate(sections(session))}
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
        listed: list[Listed] = []
        for session, begin, end, data in segments:
            self.pace.wait(end)
            if listed and listed[-1].session != session:
                listed = []
            number = listed[-1].number + 1 if listed else 0
            coding = coding_of(self.sent.sessions[session], begin)
            listed = [*listed, Listed(session, number, end - begin, coding)][-self.LISTED:]
            with self.lock:
                self.kept[listed[-1].name] = data
                self.kept["live.m3u8"] = playlist(listed, target).encode()

    def answer(self, request: Handler) -> None:
        with self.lock:
            data = self.kept.get(request.path.lstrip("/"))
        if self.pace.now() < self.fails_until:
            request.send_error(503)
        elif data is None:
            request.send_error(404)
        else:
            self.give(request, data)
            fails = self.sent.sessions[0].fails
            if fails and not self.fails_until and b"#EXT-X-DISCONTINUITY\n" in data:
                self.fails_until = self.pace.now() + fails


@dataclass(frozen=True)
class Listed:
    """A segment in a playlist."""

    session: int
    number: int
    seconds: float
    coding: int
    """Which of the session's codings it has; -1 of packets."""

    @property
    def name(self) -> str:
        return f"{self.session}-{self.number}.{'ts' if self.coding < 0 else 'm4s'}"

    @property
    def map(self) -> list[str]:
        return [f'#EXT-X-MAP:URI="{self.session}-init-{self.coding}.mp4"'] if self.coding >= 0 else []


def playlist(listed: list[Listed], target: int) -> str:
    """The text of a playlist. Each change of the coding is a discontinuity, and those that are gone are counted."""
    first = last = listed[0]
    lines = ["#EXTM3U", f"#EXT-X-VERSION:{3 if first.coding < 0 else 7}", f"#EXT-X-TARGETDURATION:{target}",
             f"#EXT-X-MEDIA-SEQUENCE:{first.number}"]
    if first.coding >= 0:
        lines.append(f"#EXT-X-DISCONTINUITY-SEQUENCE:{first.coding}")
    lines += first.map
    for segment in listed:
        if segment.coding != last.coding:
            lines += ["#EXT-X-DISCONTINUITY", *segment.map]
        lines += [f"#EXTINF:{segment.seconds:.3f},", segment.name]
        last = segment
    return "\n".join([*lines, ""])


def coding_of(session: Session, due: float) -> int:
    """Which of a session's codings is in force; -1 of packets."""
    return sum(due >= begin for begin, _ in session.codings) - 1


def sections(session: Session) -> list[bytes]:
    """The initialization sections of fragmented MP4."""
    return [fmp4.section(coding, [unit for unit in session.units if coding_of(session, unit.due) == index])
            for index, (_, coding) in enumerate(session.codings)]


def cut(session: Session, number: int) -> list[tuple[int, float, float, bytes]]:
    """Segments of a second or more: session, begin and end when due, and the packets or the fragment."""
    begins = [session.units[0].due]
    for unit in session.units:
        if unit.key and unit.due - begins[-1] >= 0.98:
            begins.append(unit.due)
    ends = [*begins[1:], session.units[-1].due + 0.04]
    if session.codings:
        return [(number, begin, end, fmp4.segment(index, [
            unit for unit in session.units if begin <= unit.due < end or end == ends[-1] <= unit.due]))
            for index, (begin, end) in enumerate(zip(begins, ends), 1)]
    packets = list(form_bytes(session, "ts"))
    found, at = [], 0
    for begin, end in zip(begins, ends):
        data = []
        while at < len(packets) and (packets[at][0] < end or end == ends[-1]):
            data.append(packets[at][1])
            at += 1
        found.append((number, begin, end, b"".join(data)))
    return found
