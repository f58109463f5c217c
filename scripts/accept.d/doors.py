# SPDX-License-Identifier: Apache-2.0
"""What strangers do at relay's TLS and SRT ports while a stream comes in by SRT; the script `load` starts it."""

import argparse
import http.client
import os
import random
import re
import signal
import socket
import ssl
import struct
import subprocess
import sys
import time

from arrivals import Datagrams
from asking import free_port, free_ports
from load import MOST_GROWN, RATE, SETTLE, Relay, check, conclude, tell

# Clients that ask for another handshake, one after the other, and seconds until such a connection has ended or is let be.
RENEGOTIATIONS, RENEGOTIATED = 20, 2
# Callers, the packets that they send together in a second, for how many seconds, and hundredths of a core that may cost.
CALLERS, PACE, FLOOD, MOST_CPU = 200, 5000, 16, 50
# MiB: libsrt keeps each caller that was sent away, about 13 kB, for some seconds.
MOST_FLOODED = 128
# Kinds of handshakes (draft-sharabayko-srt, 3.2.1).
INDUCTION, CONCLUSION = 1, 0xFFFFFFFF


class Doors(Relay):
    """A channel that sends by SRT, and one that listens there and passes on what comes, by UDP and to players by RTMPS."""

    def __init__(self, options):
        self.home, self.paced = options.home, Datagrams()
        self.port, self.players, self.callers = free_port(), free_port(), free_ports(1)[0]
        self.socket = f"{self.home}/relay.sock"
        keys = [f"{self.home}/key.pem", f"{self.home}/certificate.pem"]
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-keyout", keys[0], "-out", keys[1]], check=True, capture_output=True)
        os.chmod(keys[0], 0o600)
        with open(f"{self.home}/relay.yaml", "w", encoding="utf-8") as file:
            file.write(f"""
http: {{address: "127.0.0.1:{self.port}", socket: {self.socket}, key: {keys[0]}, certificate: {keys[1]}}}
channels:
  - name: sender
    input: "test:"
    encoder: {{size: 640x360, frameRate: {RATE}, preset: veryfast, gop: 1}}
    outputs: ["srt://127.0.0.1:{self.callers}"]
  - name: receiver
    input: "srt://127.0.0.1:{self.callers}?mode=listener"
    copy: all
    tls: {{key: {keys[0]}, certificate: {keys[1]}}}
    outputs: ["udp://127.0.0.1:{self.paced.port}", "rtmps-listen://127.0.0.1:{self.players}/live/program"]
""")
        command = [options.relay, "--config", f"{self.home}/relay.yaml", "--no-status"]
        with open(f"{self.home}/relay.log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)

    def metrics(self):
        """By the Unix socket: what is tried at the other ports does not matter there."""
        connection = http.client.HTTPConnection("localhost", timeout=5)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(5)
        connection.sock.connect(self.socket)
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()

    def is_ready(self):
        """Whether frames have come for a while."""
        return len(self.paced.stamps) > 2 * RATE

    def connections(self):
        """The connections of the SRT input so far."""
        return int(float(re.search(r"^relay_srt_connections_total{.*} (\S+)$", self.metrics(), re.MULTILINE).group(1)))

    def losses(self):
        """What was lost, as relay counts it, with what SRT did not get in time."""
        dropped = re.findall(r"^relay_srt_packets_received_drop_total{.*} (\S+)$", self.metrics(), re.MULTILINE)
        return {**self.sums()[0], "dropped by SRT": sum(map(float, dropped))}


def judge_stream(relay, begin, before, name):
    """Whether the stream has not felt anything since `begin`."""
    frames, longest, missing = relay.paced.window(begin, time.time(), RATE)
    lost = {key: value - before[key] for key, value in relay.losses().items() if value != before[key]}
    check(frames and not missing and not lost,
          f"{name}: {frames} frames, {missing} missing, longest gap {longest:.1f} ms; lost: {lost or 'nothing'}")


# ---- TLS ----


def shakes(port):
    """Whether an ordinary client gets its handshake."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as link, context.wrap_socket(link) as tunnel:
            return tunnel.version() is not None
    except OSError:
        return False


def renegotiate(port):
    """Asks for another handshake within a connection; whether it was asked for, and whether relay made it."""
    client = subprocess.Popen(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-tls1_2", "-legacy_renegotiation"], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        client.stdin.write("R\n")
        client.stdin.flush()
        client.wait(RENEGOTIATED)
    except (BrokenPipeError, subprocess.TimeoutExpired):
        client.kill()
    _, asked, more = client.communicate()[0].partition("RENEGOTIATING")
    # It looks at a certificate once in each handshake.
    return bool(asked), "verify return" in more


def judge_tls(relay):
    for name, port in (("https", relay.port), ("rtmps", relay.players)):
        moment, losses = time.time(), relay.losses()
        results = [renegotiate(port) for _ in range(RENEGOTIATIONS)]
        asked, made = (sum(column) for column in zip(*results))
        check(asked == RENEGOTIATIONS and not made, f"{name}: {asked} ask for another handshake, {made} get one")
        check(shakes(port), f"{name}: an ordinary client is served afterwards")
        judge_stream(relay, moment, losses, f"{name}, meanwhile")


# ---- SRT ----


def handshake(version, extension, kind, cookie, own, more=b""):
    """A handshake of a caller to a listener."""
    body = struct.pack(">IHHIIIIII", version, 0, extension, random.getrandbits(31), 1500, 8192, kind, own, cookie)
    return struct.pack(">IIII", 0x8000_0000, 0, 0, 0) + body + bytes([1, 0, 0, 127]) + bytes(12) + more


class Caller:
    """A stranger with a port of its own. It begins handshakes, and completes those that it gets an answer to."""

    REQUEST = struct.pack(">HHIII", 1, 3, 0x01_05_01, 0xBF, 120 << 16 | 120)

    def __init__(self, port):
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.link.setblocking(False)
        self.link.connect(("127.0.0.1", port))
        self.answers, self.own = 0, random.getrandbits(30) + 1

    def step(self):
        """Sends one packet."""
        try:
            answer = self.link.recv(2048)
            self.answers += 1
        except OSError:
            answer = b""
        if len(answer) >= 64 and struct.unpack(">I", answer[36:40])[0] == INDUCTION:
            cookie = struct.unpack(">I", answer[44:48])[0] ^ (0 if random.random() < 0.8 else 1)
            data = handshake(5, 1, CONCLUSION, cookie, self.own, self.REQUEST[: random.choice([16, 16, 16, 7])])
        else:
            self.own = random.getrandbits(30) + 1
            data = handshake(4, 2, INDUCTION, 0, self.own)
        try:
            self.link.send(data)
        except OSError:
            pass


def flood(callers, seconds):
    """Sends the callers' packets, each in its turn; how many."""
    begin, sent = time.monotonic(), 0
    while (elapsed := time.monotonic() - begin) < seconds:
        for _ in range(max(0, round(elapsed * PACE) - sent)):
            callers[sent % len(callers)].step()
            sent += 1
        time.sleep(0.002)
    return sent


def judge_srt(relay):
    connections, memory, losses = relay.connections(), relay.memory, relay.losses()
    callers = [Caller(relay.callers) for _ in range(CALLERS)]
    cpu, moment, begin, sent, peaks = relay.cpu, time.time(), time.monotonic(), 0, []
    for _ in range(2):
        relay.forget_peak()
        sent += flood(callers, FLOOD / 2)
        peaks.append(relay.peak)
    elapsed = time.monotonic() - begin
    cost, answers = (relay.cpu - cpu) / elapsed * 100, sum(caller.answers for caller in callers)
    check(answers > 0, f"{sent} handshakes of {CALLERS} callers in {elapsed:.0f} s, {answers} answers")
    check(cost < MOST_CPU, f"relay took {cost:.0f} % of a core with its encoder (bound {MOST_CPU})")
    judge_stream(relay, moment, losses, "meanwhile")
    grown, more = max(peaks) - memory, peaks[1] - peaks[0]
    check(grown <= MOST_FLOODED, f"memory grew by {grown:.1f} MiB at most, from {memory:.1f} (bound {MOST_FLOODED})")
    check(more <= MOST_GROWN, f"of them by {more:.1f} MiB in the second half (bound {MOST_GROWN})")
    check(relay.connections() == connections, f"its sender has had {relay.connections()} connections, as before")
    for caller in callers:
        caller.link.close()


def main():
    parser = argparse.ArgumentParser()
    for name in ("--relay", "--home"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    relay = Doors(options)
    try:
        relay.wait_until_ready()
        time.sleep(SETTLE)
        judge_tls(relay)
        judge_srt(relay)
        status = relay.end()
        check(status == 0, f"relay ends with {status}")
    finally:
        relay.end()


if __name__ == "__main__":
    conclude(main, "doors")
