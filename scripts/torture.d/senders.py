# SPDX-License-Identifier: Apache-2.0
"""How a case's stream comes to relay: each sender has an address for relay, and sends each unit when it is due."""
from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import flv
import ts
from http_senders import HLS, HTTP
from media import Unit
from sender import DATAGRAM, PATIENCE, Sender, form_bytes, joined
from stream import JOINS, Sent, Session


class File(Sender):
    """A file that relay reads."""

    def __init__(self, sent: Sent, form: str, port: int, work: Path, door: int = 0) -> None:
        super().__init__(sent, form, port, work, door)
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
                # A link takes connections before relay does.
                if self.link and not is_bound(self.port, "tcp"):
                    raise ConnectionRefusedError
                return socket.create_connection(("127.0.0.1", self.door), 5)
            except OSError:
                if time.monotonic() > give_up or self.pace.over.is_set():
                    raise
                time.sleep(0.05)

    def publish(self, session: Session, link: socket.socket | None, is_last: bool) -> None:
        units = session.units
        while True:
            self.pace.wait(units[0].due)
            try:
                return self.send(units, session, link, is_last)
            except OSError:
                units, link = self.rest(units), None
                if not units:
                    raise

    def send(self, units: list[Unit], session: Session, link: socket.socket | None, is_last: bool) -> None:
        is_again = link is None and self.link
        with link or self.connect() as link:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link.settimeout(PATIENCE)
            self.shake(link)
            if is_again:
                units = self.rest(units)  # relay may have taken long for its answer
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
            # Closed alone, it would stay as long as the other thread reads from it.
            link.shutdown(socket.SHUT_RDWR)

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


def is_bound(port: int, protocol: str = "udp") -> bool:
    """Whether somebody takes datagrams, or connections, at a port."""
    return f":{port:04X} 00000000:0000 " in Path(f"/proc/net/{protocol}").read_text()


class UDP(Sender):
    """Datagrams of seven packets."""

    datagrams = True

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
        units = session.units
        while units:
            self.pace.wait(units[0].due)
            is_over = self.call(replace(session, units=units), session is self.last)
            if self.link or is_over or session is not self.last:
                units = self.rest(units)
            else:
                # An encoder that was turned away calls again.
                self.pace.over.wait(1.0)
                units = self.from_next_key(units)

    def call(self, session: Session, is_last: bool) -> bool:
        """Sends until the case is over, or the connection. Returns whether all was sent."""
        with (self.work / "srt.log").open("ab") as log:
            caller = subprocess.Popen(
                ["srt-live-transmit", "-q", "-a:no", "-chunk", "1316", "file://con",
                 f"srt://127.0.0.1:{self.door}?mode=caller&latency=200"],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=log)
        assert caller.stdin
        try:
            for due, data in joined(form_bytes(session, "ts"), 65536):
                self.pace.wait(due)
                # It sends whole chunks only, and would keep the rest until more comes.
                caller.stdin.write(ts.filled(data, DATAGRAM))
                caller.stdin.flush()
            if is_last:
                self.pace.over.wait()
            return True
        except BrokenPipeError:
            return False  # turned away
        finally:
            caller.kill()
            caller.wait()


class RTSP(Sender):
    """ffmpeg records into the server of scripts/live-inputs, and relay plays from there."""

    joins = JOINS["rtsp"]
    is_called = True

    @property
    def address(self) -> str:
        return f"rtsp://127.0.0.1:{self.door}/live"

    def prepare(self) -> None:
        server = Path(__file__).parent.parent / "live-inputs.d" / "rtsp.py"
        with (self.work / "rtsp.log").open("ab") as log:
            self.server = subprocess.Popen([sys.executable, server, str(self.port)], stderr=log)
            self.connected().close()
            self.pusher = subprocess.Popen(
                ["ffmpeg", "-v", "error", "-f", "flv", "-i", "-", "-c", "copy", "-max_interleave_delta", "100000",
                 "-f", "rtsp", "-rtsp_transport", "tcp", f"rtsp://127.0.0.1:{self.port}/live"],
                stdin=subprocess.PIPE, stderr=log)
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
