# SPDX-License-Identifier: Apache-2.0
"""Prometheus, Alertmanager and relay against each other; started by the script `alerts` beside this file."""

import argparse
import http.client
import http.server
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from asking import free_port, free_ports

SCRAPE, EVALUATION, FOR, GROUP_WAIT, GROUP_INTERVAL, SPARE = 1, 1, 3, 1, 1, 2
TOKEN = "a-token-of-the-test"
BALLAST = 11_500_000

failures = []
processes = []


def check(holds, text):
    print(("ok      " if holds else "FAILED  ") + text, flush=True)
    if not holds:
        failures.append(text)


def start(command, log):
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    processes.append(process)
    return process


def end_all():
    for process in reversed(processes):
        if process.poll() is None:
            process.terminate()
    for process in reversed(processes):
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for(seconds, what, condition):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            value = condition()
        except (OSError, ValueError, http.client.HTTPException):
            value = None
        if value:
            return value
        time.sleep(0.1)
    raise SystemExit(f"FAILED  {what} did not happen within {seconds} s")


def tool(*command, **options):
    result = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    check(result.returncode == 0, f"{' '.join(os.path.basename(word) for word in command)}: {result.returncode}")
    if result.returncode:
        print(result.stdout + result.stderr)


class Webhook(http.server.BaseHTTPRequestHandler):
    """Keeps when each alert was told of, and as what."""

    told = []

    def do_POST(self):  # pylint: disable=invalid-name
        now = time.monotonic()
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        for alert in body["alerts"]:
            self.told.append((now, alert["labels"]["alertname"], alert["status"], alert))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments):  # pylint: disable=arguments-differ
        pass

    @classmethod
    def first(cls, name, status, after=0.0):
        return next((when for when, alert, state, _ in cls.told if (alert, state) == (name, status) and when > after), None)


class Relay:
    """relay with two channels: `disk` records to the small disk and is the input of `news`."""

    def __init__(self, options):
        self.home = options.home
        self.port = free_port()
        self.socket = f"{self.home}/relay.sock"
        self.certificate()
        self.context = ssl.create_default_context(cafile=f"{self.home}/certificate.pem")
        with open(f"{self.home}/relay.yaml", "w", encoding="utf-8") as file:
            file.write(self.configuration())
        log = open(f"{self.home}/relay.log", "w", encoding="utf-8")
        self.process = start([options.relay, "--config", f"{self.home}/relay.yaml", "--no-status"], log)

    def certificate(self):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "90",
             "-subj", "/CN=relay", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{self.home}/key.pem",
             "-out", f"{self.home}/certificate.pem"], check=True, capture_output=True)
        os.chmod(f"{self.home}/key.pem", 0o600)

    def configuration(self):
        link, pull = free_ports(2)
        nobody = free_port()
        return f"""
http:
  address: 127.0.0.1:{self.port}
  socket: {self.socket}
  certificate: {self.home}/certificate.pem
  key: {self.home}/key.pem
  tokens:
    - role: view
      token: {TOKEN}
channels:
  - name: disk
    input: "test:"
    encoder: {{size: 320x180, preset: ultrafast, videoBitrate: 2M, audioBitrate: 64k}}
    outputs:
      - address: srt://127.0.0.1:{link}?latency=100
        name: link
      - address: srt://127.0.0.1:{pull}?mode=listener
        name: pull
      - address: rtmp://127.0.0.1:{nobody}/live/secret-key
        name: nobody
    recording:
      directory: {self.home}/disk/recordings
      segment: 5s
      expect: 5s
      diskReserve: 2MB
      diskWarn: 20s
      keep: 30d
      onSegment: /bin/true
  - name: news
    input:
      address: srt://127.0.0.1:{link}?mode=listener
      name: studio
      backups:
        - "test:"
    encoder: {{size: 320x180, preset: ultrafast, videoBitrate: 300k, audioBitrate: 64k}}
    monitor: {{loudness: -23, meter: true}}
    outputs:
      - hls:{self.home}/hls
"""

    def get(self, token=TOKEN):
        request = urllib.request.Request(
            f"https://127.0.0.1:{self.port}/metrics", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, context=self.context, timeout=5) as answer:
            return answer.read().decode()

    def value(self, series):
        found = re.search(re.escape(series) + r" (\S+)\n", self.get())
        return float(found.group(1)) if found else None

    @property
    def seconds_left(self):
        return self.value('relay_storage_seconds_until_full{channel="disk"}')

    def cpu(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def scaled_rules(text, low, critical):
    """The alerts as they are installed, with other bounds of time until the disk is full; one of them without `for`."""
    text, first = re.subn(r"seconds_until_full < 7200\n        for: 2m", f"seconds_until_full < {low}\n        for: {FOR}s", text)
    text, second = re.subn(r"seconds_until_full < 1800\n        for: 30s", f"seconds_until_full < {critical}", text)
    check((first, second) == (1, 1), "the alerts on the disk's budget are found and scaled")
    return text


class Watchers:
    """Prometheus and Alertmanager."""

    def __init__(self, options, relay, rules, hook):
        self.home = home = options.home
        self.port, manager = free_port(), free_port()
        files = {
            "rules.yml": rules,
            "token": TOKEN,
            "alertmanager.yml": f"""
route: {{receiver: hook, group_by: [alertname, channel, output], group_wait: {GROUP_WAIT}s, group_interval: {GROUP_INTERVAL}s,
  repeat_interval: 1h}}
receivers: [{{name: hook, webhook_configs: [{{url: 'http://127.0.0.1:{hook}/', send_resolved: true}}]}}]
""",
            "prometheus.yml": f"""
global: {{scrape_interval: {SCRAPE}s, scrape_timeout: 900ms, evaluation_interval: {EVALUATION}s}}
rule_files: [rules.yml]
alerting: {{alertmanagers: [{{static_configs: [{{targets: ['127.0.0.1:{manager}']}}]}}]}}
scrape_configs:
  - job_name: relay
    scheme: https
    authorization: {{credentials_file: token}}
    tls_config: {{ca_file: certificate.pem}}
    static_configs: [{{targets: ['127.0.0.1:{relay.port}']}}]
""",
        }
        for name, text in files.items():
            with open(f"{home}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        tool("promtool", "check", "config", f"{home}/prometheus.yml")
        tool("amtool", "check-config", f"{home}/alertmanager.yml")
        log = open(f"{home}/watchers.log", "w", encoding="utf-8")
        start(["prometheus-alertmanager", f"--config.file={home}/alertmanager.yml", f"--storage.path={home}/am",
               f"--web.listen-address=127.0.0.1:{manager}", "--cluster.listen-address=", "--log.level=warn"], log)
        self.prometheus = start(["prometheus", f"--config.file={home}/prometheus.yml", f"--storage.tsdb.path={home}/tsdb",
                                 f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn"], log)

    def apply(self, rules):
        """Puts other alerts in the place of those that there are."""
        with open(f"{self.home}/rules.yml", "w", encoding="utf-8") as file:
            file.write(rules)
        self.prometheus.send_signal(signal.SIGHUP)

    def ask(self, path, **query):
        url = f"http://127.0.0.1:{self.port}{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return json.load(error)

    def instant(self, expression):
        return self.ask("/api/v1/query", query=expression)


def expressions(node, path=""):
    """Each query of the dashboard, with the title of its panel."""
    if isinstance(node, dict):
        path = node.get("title") or node.get("name") or path
        if isinstance(node.get("expr"), str):
            yield path, node["expr"]
        for value in node.values():
            yield from expressions(value, path)
    elif isinstance(node, list):
        for value in node:
            yield from expressions(value, path)


def judge_dashboard(board, watchers):
    names = [variable["name"] for variable in board["templating"]["list"]]
    asked = empty = 0
    for title, expression in expressions(board):
        text = re.sub(r"\$__rate_interval|\$__interval|\$__range", "30s", expression)
        for name in names:
            text = re.sub(r"\$\{" + name + r"(:\w+)?\}|\$" + name + r"\b", ".*", text)
        answer = watchers.instant(text)
        asked += 1
        if answer["status"] != "success":
            check(False, f"dashboard, {title}: {answer.get('error')}")
        elif not answer["data"]["result"]:
            empty += 1
            check(False, f"dashboard, {title}: nothing answers {text}")
    for variable in board["templating"]["list"]:
        found = re.fullmatch(r"label_values\((.+), (\w+)\)", (variable.get("query") or {}).get("query", "")
                             if isinstance(variable.get("query"), dict) else "")
        if found:
            text = re.sub(r"\$\w+", ".*", found.group(1))
            values = watchers.ask(f"/api/v1/label/{found.group(2)}/values", **{"match[]": text})
            check(bool(values.get("data")), f"dashboard, the variable {variable['name']} has values: {values.get('data')}")
    check(asked > 50 and not empty, f"dashboard: {asked} queries, {empty} without an answer")


def judge_cost(relay):
    """200 requests a second for 10 s, against 10 s without; by the Unix socket, so that TLS is not what is measured."""

    def window(work):
        before, begin = relay.cpu(), time.monotonic()
        work()
        return (relay.cpu() - before) / (time.monotonic() - begin)

    def ask():
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(relay.socket)
        for index in range(2000):
            connection.request("GET", "/metrics")
            size = len(connection.getresponse().read())
            time.sleep(max(0, begin + index / 200 - time.monotonic()))
        print(f"        an answer has {size} bytes")

    idle = window(lambda: time.sleep(10))
    begin = time.monotonic()
    busy = window(ask)
    check(busy - idle < 0.04, f"200 requests a second cost {(busy - idle) * 100:.1f} % of a core (bound 4)")


def watch_crossing(relay, bounds, seconds):
    """When the time until the disk is full falls below each of `bounds`, and when the guard stops the recording."""
    crossed = {}
    end = time.monotonic() + seconds
    while time.monotonic() < end and len(crossed) <= len(bounds):
        text = relay.get()
        now = time.monotonic()
        left = re.search(r'relay_storage_seconds_until_full\{channel="disk"\} (\S+)', text)
        for name, bound in bounds.items():
            if left and float(left.group(1)) < bound:
                crossed.setdefault(name, now)
        if 'relay_storage_state{channel="disk",state="stopped"} 1' in text:
            crossed.setdefault("RelayRecordingStopped", now)
        time.sleep(0.1)
    return crossed


def judge_disk(relay, watchers, rules):
    left = relay.seconds_left
    bounds = {"RelayDiskBudgetLow": round(left - 15), "RelayDiskBudgetCritical": round(left - 22)}
    print(f"        the disk is full in {left:.0f} s; bounds: {bounds}")
    watchers.apply(scaled_rules(rules, bounds["RelayDiskBudgetLow"], bounds["RelayDiskBudgetCritical"]))
    crossed = watch_crossing(relay, bounds, left + 60)
    check(len(crossed) == 3, f"the disk filled: {sorted(crossed)}")
    time.sleep(SCRAPE + EVALUATION + GROUP_WAIT + SPARE)
    for name, moment in crossed.items():
        delay = FOR if name == "RelayDiskBudgetLow" else 0
        bound = SCRAPE + EVALUATION + delay + GROUP_WAIT + SPARE
        told = Webhook.first(name, "firing")
        took = None if told is None else told - moment
        text = "not at all" if took is None else f"after {took:.1f} s"
        check(took is not None and took <= bound, f"{name} firing {text} (bound {bound}, with for: {delay}s)")
    return crossed


def judge_recovery(relay, home, crossed):
    freed = time.monotonic()
    os.remove(f"{home}/disk/ballast")
    well = wait_for(10, "storage being well again", lambda: relay.value('relay_storage_state{channel="disk",state="ok"}') and
                    time.monotonic())
    wait_for(10, "recording again", lambda: relay.value('relay_recorder_state{channel="disk",state="recording"}'))
    bound = SCRAPE + EVALUATION + GROUP_INTERVAL + SPARE
    time.sleep(bound + 1)
    for name in crossed:
        told = Webhook.first(name, "resolved", after=freed)
        took = None if told is None else told - well
        text = "not at all" if took is None else f"{took:.1f} s after relay said so, {told - freed:.1f} s after space was freed"
        check(took is not None and took <= bound, f"{name} resolved {text} (bound {bound})")


def judge_files(root):
    folder = f"{root}/Config/prometheus"
    tool("promtool", "check", "rules", f"{folder}/relay.rules.yml")
    tool("promtool", "test", "rules", f"{folder}/tests/relay.rules.test.yml")
    tool("promtool", "check", "config", "--syntax-only", f"{folder}/prometheus.example.yml")
    tool("amtool", "check-config", f"{folder}/alertmanager.example.yml")


def judge_metrics(relay, root):
    result = subprocess.run(["promtool", "check", "metrics"], input=relay.get(), capture_output=True, text=True, check=False)
    check(result.returncode == 0, f"promtool check metrics: {result.returncode}")
    print(result.stdout + result.stderr, end="")
    try:
        relay.get(token="a-wrong-token-for-once")
        check(False, "a wrong token is refused")
    except urllib.error.HTTPError as error:
        check(error.code == 401, f"a wrong token is refused: {error.code}")
    time.sleep(0.5)  # an answer is good for 200 ms
    text = relay.get()
    check("relay_http_failed_logins_total 1\n" in text, "and counted")
    check("secret-key" not in text and "://" not in text, "no address and no key is in the metrics")
    with open(f"{root}/docs/metrics.md", encoding="utf-8") as file:
        documented = set(re.findall(r"^\| `((?:relay|process)_\w+)` \|", file.read(), re.MULTILINE))
    there = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    check(there <= documented, f"all {len(there)} families are in docs/metrics.md")
    print(f"        not in this case: {' '.join(sorted(documented - there))}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("--relay", "--root", "--home"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    hook = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Webhook)
    threading.Thread(target=hook.serve_forever, daemon=True).start()
    with open(f"{options.home}/disk/ballast", "wb") as file:
        file.write(bytes(BALLAST))
    judge_files(options.root)
    relay = Relay(options)

    def is_ready():
        text = relay.get()
        return text.count('state="on_air"} 1') == 2 and 'state="primary"} 1' in text and 'output="link",state="live"} 1' in text

    wait_for(40, "both channels on air, the second with its first input", is_ready)

    with open(f"{options.root}/Config/prometheus/relay.rules.yml", encoding="utf-8") as file:
        rules = file.read()
    # At first with bounds that nothing falls below.
    watchers = Watchers(options, relay, scaled_rules(rules, 0, 0), hook.server_address[1])
    wait_for(30, "Prometheus having metrics", lambda: watchers.instant("relay_build_info")["data"]["result"])
    wait_for(30, "a forecast of the disk", lambda: relay.seconds_left)
    time.sleep(5)
    judge_metrics(relay, options.root)
    crossed = judge_disk(relay, watchers, rules)
    with open(f"{options.root}/Config/grafana/relay.json", encoding="utf-8") as file:
        judge_dashboard(json.load(file), watchers)
    judge_recovery(relay, options.home, crossed)
    check(Webhook.first("RelayOutputDown", "firing") is not None, "the output that nobody takes was told of, too")
    unexpected = {name for _, name, state, _ in Webhook.told if state == "firing"} - set(crossed) - {
        "RelayOutputDown", "RelayRecorderGap", "RelayNotRecording"}
    check(not unexpected, f"nothing else fired: {sorted(unexpected)}")
    judge_cost(relay)


if __name__ == "__main__":
    home = sys.argv[sys.argv.index("--home") + 1]
    try:
        main()
    except SystemExit as error:
        failures.append(str(error))
        print(error)
    finally:
        end_all()
    if failures:
        for name in ("relay.log", "watchers.log"):
            if os.path.exists(f"{home}/{name}"):
                with open(f"{home}/{name}", encoding="utf-8") as file:
                    print(f"--- the end of {name}", *file.read().splitlines()[-30:], sep="\n        ")
    print("alerts: " + (f"{len(failures)} failed" if failures else "all as it must be"))
    sys.exit(1 if failures else 0)
