# SPDX-License-Identifier: Apache-2.0
"""Receivers of relay's outputs that know when each frame of video came, and whether one is missing."""

import os
import socket
import struct
import sys
import threading

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "chaos.d"))

from rtmp_stream import Stream  # noqa: E402

# Linux, asm-generic/socket.h. The system stamps what comes when it is handed over, however late this process is woken.
SO_TIMESTAMPNS = 35
SO_RCVBUFFORCE = 33
TICKS = 90_000
# RTMP tells milliseconds.
ROUNDING = 100


class Arrivals(threading.Thread):
    """What comes at a port of its own."""

    def __init__(self, link):
        super().__init__(daemon=True)
        self.link, self.port = link, link.getsockname()[1]
        # Of each frame, when it came in seconds since 1970 and its decoding time in ticks; when data was missing besides.
        self.stamps, self.holes = [], []
        self.start()

    @staticmethod
    def receive(link):
        """What came, and when that was."""
        link.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        stamp = 0.0
        while True:
            data, extra, _, _ = link.recvmsg(1 << 16, 64)
            for _, kind, value in extra:
                if kind == SO_TIMESTAMPNS:
                    seconds, nanoseconds = struct.unpack("@ll", value[:16])
                    stamp = seconds + nanoseconds / 1e9
            if not data:
                return
            yield data, stamp

    def window(self, begin, end, rate):
        """Between two times since 1970: frames, the longest gap between two in milliseconds, and how many are missing."""
        frames = [frame for frame in self.stamps if begin <= frame[0] <= end]
        steps = [(two[0] - one[0], two[1] - one[1]) for one, two in zip(frames, frames[1:])]
        length = TICKS / rate
        missing = sum(max(1, round(abs(step / length - 1))) for _, step in steps if abs(step - length) > ROUNDING)
        holes = sum(begin <= moment <= end for moment in self.holes)
        longest = max((gap for gap, _ in steps), default=end - begin)
        return len(frames), longest * 1000, missing + holes


class Datagrams(Arrivals):
    """An MPEG transport stream by UDP."""

    def __init__(self):
        link, self.counters = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), {}
        try:
            link.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
        except PermissionError:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        link.bind(("127.0.0.1", 0))
        super().__init__(link)

    def run(self):
        for data, stamp in self.receive(self.link):
            for offset in range(0, len(data) - 187, 188):
                self.packet(data[offset : offset + 188], stamp)

    def packet(self, packet, stamp):
        """Looks at one packet (ISO/IEC 13818-1, 2.4.3)."""
        kind, counter = (packet[1] & 0x1F) << 8 | packet[2], packet[3] & 15
        if kind == 0x1FFF or not packet[3] & 16:
            return
        if self.counters.get(kind, counter - 1 & 15) != counter - 1 & 15:
            self.holes.append(stamp)
        self.counters[kind] = counter
        begin = 4 + (1 + packet[4] if packet[3] & 32 else 0)
        head = packet[begin : begin + 19]
        if packet[1] & 64 and len(head) == 19 and head[:3] == b"\0\0\1" and head[3] & 0xF0 == 0xE0:
            field = head[14:19] if head[7] & 64 else head[9:14]
            time = (field[0] >> 1 & 7) << 30 | field[1] << 22 | field[2] >> 1 << 15 | field[3] << 7 | field[4] >> 1
            self.stamps.append((stamp, time))


class Publication(Arrivals):
    """What one publisher sends by RTMP."""

    def __init__(self):
        super().__init__(socket.create_server(("127.0.0.1", 0)))

    def run(self):
        link, _ = self.link.accept()
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        now = 0.0

        def video(time, body):
            # One that is no sequence header (E.4.3.1 of the FLV specification).
            if len(body) > 5 and body[1] == 1:
                self.stamps.append((now, time * TICKS))

        stream = Stream("ok", link.sendall, video, lambda *_: None)
        for data, now in self.receive(link):
            stream.feed(data)
