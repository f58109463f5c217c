# SPDX-License-Identifier: Apache-2.0
"""What relay's HTTP server costs under load, and what hostile requests get; started by the script `load` beside this file."""

import argparse
import http.client
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import time

from arrivals import Datagrams, Publication
from asking import free_port
from hostile import Hostile

TOKEN = "operator-of-the-load"
CHANNEL = "load"
RATE = 30
CROWD = {"metrics": 200, "events": 50, "previews": 10, "deaf": 5}
# Hundredths of a core, milliseconds between two frames, MiB.
MOST_CPU, MOST_GAP, MOST_GROWN = 8, 53, 32
# Until what began or ended does not show any more.
SETTLE = 3
LOSSES = (
    "relay_program_skipped_frames_total",
    "relay_feed_dropped_frames_total",
    "relay_output_dropped_frames_total",
    "relay_output_dropped_packets_total",
    "relay_output_send_errors_total",
    "relay_recorder_gaps_total",
    "relay_recorder_gap_frames_total",
)

failures = []


def check(holds, text):
    print(("ok      " if holds else "FAILED  ") + text, flush=True)
    if not holds:
        failures.append(text)


def tell(text):
    print("        " + text, flush=True)


class Relay:
    """One channel of the test signal, with a recording, an output by UDP and one by RTMP."""

    token, channel, most_grown = TOKEN, CHANNEL, MOST_GROWN
    encoder = f"size: 1280x720, frameRate: {RATE}, preset: veryfast"

    def __init__(self, options):
        # By RTMP frames go out as they come from the encoder; by UDP each is spread over its time.
        self.paced, self.direct = Datagrams(), Publication()
        self.home, self.recordings = options.home, f"{options.home}/recordings"
        self.port = free_port()
        with open(f"{self.home}/relay.yaml", "w", encoding="utf-8") as file:
            file.write(f"""
http:
  address: 127.0.0.1:{self.port}
  socket: {self.home}/relay.sock
  tokens:
    - role: operate
      token: {TOKEN}
channels:
  - name: {self.channel}
    input: "test:"
    encoder: {{{self.encoder}}}
    outputs:
      - udp://127.0.0.1:{self.paced.port}
      - rtmp://127.0.0.1:{self.direct.port}/live/load
    recording: {{directory: {self.recordings}, segment: 20s}}
""")
        command = [options.relay, "--config", f"{self.home}/relay.yaml", "--no-status"]
        with open(f"{self.home}/relay.log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)

    def proc(self, name):
        with open(f"/proc/{self.process.pid}/{name}", encoding="utf-8") as file:
            return file.read()

    @property
    def cpu(self):
        """Seconds of CPU time so far."""
        fields = self.proc("stat").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def status(self, field):
        return int(re.search(rf"^{field}:\s+(\d+) kB", self.proc("status"), re.MULTILINE).group(1)) / 1024

    @property
    def memory(self):
        """MiB that are resident."""
        return self.status("VmRSS")

    @property
    def peak(self):
        """The most of them since `forget_peak`."""
        return self.status("VmHWM")

    def forget_peak(self):
        with open(f"/proc/{self.process.pid}/clear_refs", "w", encoding="utf-8") as file:
            file.write("5")

    @property
    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def holds(self, link):
        """Whether relay still has its end of a connection."""
        ends = f":{self.port:04X}", f":{link.getsockname()[1]:04X}"
        with open("/proc/net/tcp", encoding="utf-8") as file:
            rows = [line.split() for line in file]
        # One that was closed with bytes unsent lives on in the system, without an inode.
        return any(row[1].endswith(ends[0]) and row[2].endswith(ends[1]) and row[9] != "0" for row in rows[1:])

    def local(self, path):
        """The status of an answer by the Unix socket."""
        connection = http.client.HTTPConnection("localhost", timeout=5)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(5)
        connection.sock.connect(f"{self.home}/relay.sock")
        connection.request("GET", path)
        return connection.getresponse().status

    def metrics(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        return connection.getresponse().read().decode()

    def sums(self):
        """Each family that counts losses, summed up, and CPU time by part."""
        text = self.metrics()
        losses = {
            name: sum(float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE))
            for name in LOSSES
        }
        parts = re.findall(r'^relay_encoder_cpu_seconds_total\{.*part="(\w+)"\} (\S+)$', text, re.MULTILINE)
        return losses, {name: float(value) for name, value in parts}

    def is_ready(self):
        """Whether the channel is on air and a recording is finished."""
        try:
            text = self.metrics()
        except (OSError, http.client.HTTPException):
            return False
        return bool(re.search(r"^relay_recorder_segments_total\{.*\} [1-9]", text, re.MULTILINE))

    def wait_until_ready(self):
        """Waits for that."""
        end = time.monotonic() + 60
        while not self.is_ready():
            if time.monotonic() > end or self.process.poll() is not None:
                raise SystemExit("FAILED  relay did not record within 60 s")
            time.sleep(0.2)

    def end(self):
        """Ends it; what it ended with."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Window:
    """What came by both outputs since a time."""

    def __init__(self, relay, begin):
        end = time.time()
        self.frames, self.longest, missing = relay.direct.window(begin, end, RATE)
        _, self.longest_paced, more = relay.paced.window(begin, end, RATE)
        self.missing = missing + more

    @property
    def text(self):
        return (
            f"{self.frames} frames, {self.missing} missing, longest gap {self.longest:.1f} ms, "
            f"paced {self.longest_paced:.1f}"
        )


class Phase:
    """A time in which everything is measured."""

    def __init__(self, relay, seconds):
        _, parts = relay.sums()
        cpu, begin, moment = relay.cpu, time.monotonic(), time.time()
        time.sleep(seconds)
        self.cpu = (relay.cpu - cpu) / (time.monotonic() - begin)
        self.arrivals = Window(relay, moment)
        self.parts = {name: value - parts[name] for name, value in relay.sums()[1].items()}
        self.memory, self.descriptors = relay.memory, relay.descriptors

    @property
    def beside(self):
        """CPU time that is neither the program's thread nor the encoder's."""
        return self.cpu * (1 - (self.parts["program"] + self.parts["threads"]) / self.parts["process"])

    @property
    def text(self):
        return (
            f"{self.cpu * 100:5.1f} % of a core, {self.beside * 100:4.1f} of them beside the encoder; "
            f"{self.arrivals.text}; {self.memory:.1f} MiB, {self.descriptors} descriptors"
        )


def gather(relay, options, wanted):
    """A phase with this crowd, and what the crowd got."""
    command = [sys.executable, "-B", f"{os.path.dirname(os.path.abspath(__file__))}/crowd.py"]
    command += ["--port", str(relay.port), "--token", TOKEN, "--channel", CHANNEL]
    command += [word for name, count in wanted.items() for word in (f"--{name}", str(count))]
    crowd = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if crowd.stdout.readline() != "ready\n":
            raise SystemExit("FAILED  not all readers were answered")
        time.sleep(SETTLE)
        phase = Phase(relay, options.seconds)
        crowd.stdin.close()
        return phase, json.loads(crowd.stdout.readline())
    finally:
        crowd.kill()
        crowd.wait()


def alternate(relay, options, wanted, name):
    """Phases without and with a crowd in turn, and what the crowds got."""
    calm, busy, crowds = [], [], []
    for turn in range(options.pairs + 1):
        calm.append(Phase(relay, options.seconds))
        tell(f"without: {calm[-1].text}")
        if turn == options.pairs:
            break
        phase, crowd = gather(relay, options, wanted)
        busy.append(phase)
        crowds.append(crowd)
        tell(f"{name + ':':8} {phase.text}")
        time.sleep(SETTLE)
    return calm, busy, crowds


def costs(calm, busy, figure):
    """By how much each phase with a crowd has more of a figure than the two around it, in hundredths; and the median."""
    each = [
        (figure(two) - (figure(one) + figure(three)) / 2) * 100 for one, two, three in zip(calm, busy, calm[1:])
    ]
    return each, statistics.median(each)


def judge_load(relay, options):
    """The whole crowd: its cost, and that the program does not feel it."""
    memory = relay.memory
    relay.forget_peak()
    calm, busy, crowds = alternate(relay, options, CROWD, "with")
    each, cost = costs(calm, busy, lambda phase: phase.cpu)
    beside = costs(calm, busy, lambda phase: phase.beside)[1]
    words = f"{cost:.1f} % of a core, of {', '.join(f'{one:.1f}' for one in each)}; beside the encoder {beside:.1f}"
    check(cost < MOST_CPU, f"the crowd costs {words} (bound {MOST_CPU})")
    for phases, name in ((calm, "without the crowd"), (busy, "with it")):
        gap = max(phase.arrivals.longest for phase in phases)
        if phases is busy:
            check(gap <= MOST_GAP, f"the longest gap between frames {name}: {gap:.1f} ms (bound {MOST_GAP})")
        else:
            tell(f"the longest gap between frames {name}: {gap:.1f} ms")
    missing = sum(phase.arrivals.missing for phase in calm + busy)
    check(not missing, f"{sum(phase.arrivals.frames for phase in calm + busy)} frames, {missing} missing at the outputs")
    grown = relay.peak - memory
    check(grown <= MOST_GROWN, f"memory grew by {grown:.1f} MiB at most, from {memory:.1f} (bound {MOST_GROWN})")
    for crowd in crowds:
        streams, rate = CROWD["events"] + CROWD["previews"], crowd["asked_a_second"]
        served = crowd["refused"] == crowd["ended"] == 0 and rate > CROWD["metrics"] * 0.98 and crowd["quietest_s"] < 2
        check(
            served and crowd["statuses"] >= crowd["seconds"] - 2,
            f"the crowd was served: {rate:.1f} requests a second, median {crowd['median_ms']:.2f} ms, worst "
            f"{crowd['worst_ms']:.0f}; {streams - crowd['ended']} of {streams} streams, each {crowd['statuses']} statuses "
            f"or {crowd['preview_bytes'] >> 10} KiB at least in {crowd['seconds']:.0f} s",
        )


def tell_parts(relay, options):
    """Each part of the crowd alone; judges nothing."""
    for name, count in CROWD.items():
        calm, busy, _ = alternate(relay, options, {name: count}, name)
        cost, beside = (costs(calm, busy, figure)[1] for figure in (lambda phase: phase.cpu, lambda phase: phase.beside))
        tell(f"{count} {name} alone: {cost:.1f} % of a core, beside the encoder {beside:.1f}")


def judge_losses(relay, when):
    losses, _ = relay.sums()
    lost = {name: value for name, value in losses.items() if value}
    check(not lost, f"{when}, relay has skipped, dropped and missed nothing: {lost or 'all 0'}")


def judge_end(relay):
    """Ends relay, which must have nothing to complain of: what clients do is not the operator's business."""
    status = relay.end()
    check(status == 0, f"relay ends with {status}")
    with open(f"{relay.home}/relay.log", encoding="utf-8") as file:
        wrong = re.findall(r"^\S+ (?:warning|error) .*$", file.read(), re.MULTILINE)
    check(not wrong, f"its log has {len(wrong)} warnings and errors: {wrong[:1]}")


def judge_hostile(relay):
    memory, moment = relay.memory, time.time()
    relay.forget_peak()
    Hostile(relay, check).play()
    arrivals = Window(relay, moment)
    check(not arrivals.missing, f"meanwhile {arrivals.text}")
    grown = relay.peak - memory
    check(grown <= MOST_GROWN, f"memory grew by {grown:.1f} MiB at most, from {memory:.1f} (bound {MOST_GROWN})")


def main():
    parser = argparse.ArgumentParser()
    for name in ("--relay", "--home"):
        parser.add_argument(name, required=True)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--parts", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    relay = Relay(options)
    try:
        relay.wait_until_ready()
        judge_load(relay, options)
        judge_losses(relay, "after the load")
        if options.parts:
            tell_parts(relay, options)
        judge_hostile(relay)
        judge_losses(relay, "after hostile requests")
        judge_end(relay)
    finally:
        relay.end()


def conclude(work, name):
    """Does the work, says what failed, and ends."""
    home = sys.argv[sys.argv.index("--home") + 1]
    try:
        work()
    except SystemExit as error:
        failures.append(str(error))
        print(error)
    if failures and os.path.exists(f"{home}/relay.log"):
        with open(f"{home}/relay.log", encoding="utf-8") as file:
            print("--- the end of relay.log", *file.read().splitlines()[-30:], sep="\n        ")
    print(f"{name}: " + (f"{len(failures)} failed" if failures else "all as it must be"))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    conclude(main, "load")
