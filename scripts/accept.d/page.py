#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges the web page of a running relay in headless Chromium: one line for each judgement, and 1 at the end if one fails.

It presses buttons on the real process: it adds and removes outputs, stops and starts the recording, makes a clip, and deletes
the oldest recording if there are others. Give it a relay of its own.
"""

import argparse
import json
import os
import shlex
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from boxes import BoxTrial
from devtools import Browser, Failed
from hold import HoldTrial
from names import NameTrial

KEY = "accept-secret-7261"
ALIVE = "accept-alive"
DEAD = "accept-dead"
NAMED_ROLES = {
    "button",
    "link",
    "textbox",
    "searchbox",
    "combobox",
    "checkbox",
    "slider",
    "meter",
    "progressbar",
    "region",
    "form",
    "dialog",
    "image",
    "img",
    "group",
    "timer",
    "Video",
    "list",
}


class Interface:
    """relay's HTTP API."""

    def __init__(self, url, token):
        self.url, self.token = url if url.endswith("/") else url + "/", token

    def request(self, path, method="GET", body=None):
        """The answer: status and bytes."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        data = None
        if body is not None:
            headers["Content-Type"], data = "application/json", json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, method=method, headers=headers, data=data)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def get(self, path):
        """The JSON at a path; None if there is none now."""
        try:
            status, body = self.request(path)
        except OSError:
            return None
        return json.loads(body) if status == 200 else None


class Wire(threading.Thread):
    """A connection to relay that can break and stall: it listens beside relay and hands all bytes on."""

    def __init__(self, host, port):
        super().__init__(daemon=True)
        self.target, self.links, self.is_cut = (host, port), set(), False
        self.flows = threading.Event()
        self.flows.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        while True:
            link, _ = self.listener.accept()
            try:
                if self.is_cut:
                    raise ConnectionError
                other = socket.create_connection(self.target, 5)
                other.settimeout(None)
            except OSError:
                link.close()
                continue
            self.links |= {link, other}
            for one, two in ((link, other), (other, link)):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self.copy, args=(one, two), daemon=True).start()

    def copy(self, one, two):
        """Hands on what `one` sends."""
        try:
            while data := one.recv(1 << 16):
                self.flows.wait()
                two.sendall(data)
        except OSError:
            pass
        for link in (one, two):
            self.links.discard(link)
            try:
                link.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            link.close()

    def cut(self, is_cut):
        """Breaks every connection and lets none come about, or lets them again."""
        self.is_cut = is_cut
        for link in list(self.links) if is_cut else []:
            try:
                link.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def stall(self, seconds):
        """Holds everything back for a while."""
        self.flows.clear()
        time.sleep(seconds)
        self.flows.set()


class Trial(HoldTrial, BoxTrial, NameTrial):
    """One run: what is judged, and what that needs."""

    def __init__(self, options):
        self.options, self.failures = options, 0
        self.api = Interface(options.url, options.token)
        place = urllib.parse.urlsplit(options.url)
        self.wire = Wire(place.hostname, place.port or 80) if place.scheme == "http" and not options.no_wire else None
        self.page = place._replace(netloc=f"127.0.0.1:{self.wire.port}").geturl() if self.wire else options.url
        self.browser = Browser(options.chromium)
        self.channel = None

    # ---- Judging ----

    def judge(self, name, holds, detail=""):
        """One judgement."""
        self.failures += 0 if holds else 1
        print(f"{'holds ' if holds else 'FAILED'}  {name}{': ' + str(detail) if detail != '' else ''}", flush=True)
        return bool(holds)

    def tell(self, name, detail):
        """A measurement that is not judged."""
        print(f"        {name}: {detail}", flush=True)

    def part(self, name, work):
        """A part of the trial; what it cannot do counts as one failure."""
        try:
            work()
        except (Failed, OSError, KeyError, TypeError, StopIteration) as problem:
            self.judge(name, False, f"{type(problem).__name__}: {problem}")

    # ---- Helpers ----

    def path(self, rest=""):
        return f"v1/channels/{urllib.parse.quote(self.channel, safe='')}{rest}"

    def report(self):
        return self.api.get(self.path()) or {}

    def output(self, name):
        return self.api.get(self.path(f"/outputs/{name}"))

    def until(self, condition, seconds=5.0):
        """Waits for a fact of the process; the seconds that took, or None."""
        begin = time.monotonic()
        while time.monotonic() - begin < seconds:
            if condition():
                return time.monotonic() - begin
            time.sleep(0.1)
        return None

    def shown(self, selector):
        return self.browser.evaluate(
            f"(() => {{ const n = document.querySelector({json.dumps(selector)}); return n !== null && n.checkVisibility(); }})()"
        )

    def text(self, selector):
        return self.browser.evaluate(f"document.querySelector({json.dumps(selector)})?.textContent ?? ''")

    def focused(self):
        return self.browser.evaluate("document.activeElement?.dataset?.part ?? ''")

    def card(self, name, part):
        """The selector of a part of an output's card or row."""
        return f'[data-output][aria-label^="{name},"] [data-part="{part}"]'

    # ---- Sign-in and start ----

    def sign_in(self, token):
        """Signs in where a token is asked for."""
        self.browser.fill("#login-token", token)
        self.browser.press("#login-go")

    def begin(self):
        browser, options = self.browser, self.options
        browser.shape(1440, 900)
        browser.open(self.page)
        if options.token:
            asked = browser.wait("document.querySelector('#login')?.open === true")
            self.judge("a token is asked for", asked is not None)
            self.sign_in("wrong" + options.token)
            told = browser.wait("!document.querySelector('#login-failed').hidden", 15)
            self.judge("a wrong token is refused in words", told is not None, self.text("#login-failed"))
            time.sleep(options.pause)
            self.sign_in(options.token)
            entered = browser.wait("document.querySelector('#login').open === false", 15)
            self.judge("the right token opens the page", entered is not None)
            self.judge("no script can read the session's cookie", browser.evaluate("document.cookie") == "")
        else:
            browser.wait("document.querySelector('#channel-name')?.textContent.length > 1", 15)
            self.judge("no token is asked for", browser.evaluate("document.querySelector('#login').open") is False)
        self.channel = options.channel or self.api.get("v1/channels")["channels"][0]["name"]

    def cold_start(self):
        """From nothing to the first frame: no cache, no memory of the channel."""
        browser = self.browser
        browser.command("Network.setCacheDisabled", cacheDisabled=True)
        browser.evaluate("localStorage.clear()")
        seconds = []
        for _ in range(3):
            browser.open(f"{self.page}#{urllib.parse.quote(self.channel)}")
            browser.wait("performance.getEntriesByName('first-frame').length > 0", 20)
            first = browser.evaluate("performance.getEntriesByName('first-frame')[0]?.startTime ?? null")
            seconds.append(99 if first is None else first / 1000)
        browser.command("Network.setCacheDisabled", cacheDisabled=False)
        median = statistics.median(seconds)
        words = f"{median:.2f} s of {', '.join(f'{value:.2f}' for value in seconds)}"
        if self.options.first_frame:
            self.judge("a cold start shows a frame in time", median <= self.options.first_frame, words)
        else:
            self.tell("from a cold start to the first frame", words)

    # ---- Preview ----

    COLORS = """(() => { const v = document.querySelector('#preview'), c = document.createElement('canvas');
        c.width = 64; c.height = 36; const x = c.getContext('2d'); x.drawImage(v, 0, 0, 64, 36);
        return new Set(new Uint32Array(x.getImageData(0, 0, 64, 36).data.buffer)).size; })()"""
    FRAMES = "document.querySelector('#preview').getVideoPlaybackQuality().totalVideoFrames"
    LAG = """(() => { const v = document.querySelector('#preview'); const n = v.buffered.length;
        return n && document.querySelector('#stage').classList.contains('moving') ? v.buffered.end(n - 1) - v.currentTime : null; })()"""

    def preview(self):
        """The preview plays, in color, close to what arrived."""
        browser = self.browser
        before = browser.evaluate(self.FRAMES)
        lags = self.lags(10)
        frames = browser.evaluate(self.FRAMES) - before
        self.judge("the preview plays", frames > 50, f"{frames} frames in 10 s")
        colors = browser.evaluate(self.COLORS)
        self.judge("it shows something", colors > 1, f"{colors} colors")
        known = [lag for lag in lags if lag is not None]
        median = statistics.median(known) if known else 99
        self.judge(
            "it stays 0.8 s behind what arrived at most",
            median <= 0.8,
            f"median {median:.2f} s, worst {max(known, default=99):.2f} s, {len(lags) - len(known)} of {len(lags)} samples without video",
        )
        browser.press("#listen")
        self.judge("audio on demand", browser.evaluate("document.querySelector('#preview').muted") is False)
        browser.press("#listen")
        self.judge("and off again", browser.evaluate("document.querySelector('#preview').muted") is True)

    def lags(self, seconds):
        """Seconds behind what arrived, five times a second."""
        values, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            values.append(self.browser.evaluate(self.LAG))
            time.sleep(0.2)
        return values

    def clocks(self):
        """Clock and meters move, and the title tells the state."""
        browser = self.browser
        first = self.text("#clock-time")
        moved = browser.wait(f"document.querySelector('#clock-time').textContent !== {json.dumps(first)}", 3)
        self.judge("the program clock moves", moved is not None, self.text("#clock-time"))
        title = browser.evaluate("document.title")
        self.judge("the title tells the state and the channel", self.channel in title and "air" in title, title)
        loudness = browser.wait("document.querySelector('#loudness').textContent !== '–'", 5)
        self.judge(
            "loudness is shown", loudness is not None, f"{self.text('#loudness')} LUFS, {self.text('#loudness-word')}"
        )

    # ---- Outputs ----

    def add_outputs(self):
        """Adds one output that works and one that nobody answers, each with a check."""
        sink = self.sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sink.bind(("127.0.0.1", 0))
        address = self.options.output or f"udp://127.0.0.1:{sink.getsockname()[1]}"
        self.add(ALIVE, address, key="", works=True)
        self.judge(
            "the added output goes on air",
            self.until(lambda: (self.output(ALIVE) or {}).get("state") == "live", 15) is not None,
        )
        live = self.browser.wait(f"document.querySelector('[data-output][aria-label^=\"{ALIVE}, Live\"]') !== null", 3)
        self.judge("and its card says so", live is not None)
        self.add(DEAD, "rtmp://127.0.0.1:1/live", key=KEY, works=False)
        page = self.browser.evaluate("document.documentElement.outerHTML")
        everything = json.dumps(self.report())
        self.judge("the stream key is shown nowhere", KEY not in page and KEY not in everything)

    def add(self, name, address, key, works):
        browser = self.browser
        browser.press('#outputs [data-part="add"]')
        browser.fill('#add-form [data-part="address"]', address)
        browser.fill('#add-form [data-part="name"]', name)
        browser.fill('#add-form [data-part="key"]', key)
        browser.press('#add-form [data-part="check"]')
        browser.wait("document.querySelectorAll('#add-form .ok, #add-form .failed-step').length > 0", 15)
        words = " | ".join(
            browser.evaluate("[...document.querySelectorAll('#add-form .checks li')].map(n => n.textContent)")
        )
        is_wrong = browser.evaluate("document.querySelectorAll('#add-form .failed-step').length > 0")
        self.judge(
            f"the check of {address} tells {'that it is well' if works else 'what is wrong'}", is_wrong != works, words
        )
        browser.press('#add-form [data-part="add-now"]')
        added = self.until(lambda: self.output(name) is not None)
        self.judge(f"{name} is added", added is not None, (self.output(name) or {}).get("origin", "no such output"))
        browser.wait("document.querySelector('#add-form').hidden", 3)

    def name_taken(self):
        """The server's words for a name that is taken stay in the form."""
        browser = self.browser
        browser.press('#outputs [data-part="add"]')
        browser.fill('#add-form [data-part="address"]', f"udp://127.0.0.1:{self.sink.getsockname()[1]}")
        browser.fill('#add-form [data-part="name"]', ALIVE)
        browser.press('#add-form [data-part="add-now"]')
        browser.wait("document.querySelector('#add-form [data-part=name]').getAttribute('aria-invalid') === 'true'", 15)
        self.judge(
            "a name that is taken is told in the form",
            self.shown("#add-form .failed-step"),
            self.text("#add-form .failed-step"),
        )
        browser.press('#add-form [data-part="cancel"]')

    def pause_and_resume(self):
        browser = self.browser
        browser.press(self.card(ALIVE, "pause"))
        self.judge("Pause pauses", self.until(lambda: self.output(ALIVE)["state"] == "paused") is not None)
        browser.wait(f"document.querySelector('[data-output][aria-label^=\"{ALIVE}, Paused\"]') !== null", 3)
        time.sleep(0.3)
        browser.press(self.card(ALIVE, "pause"))
        self.judge("Resume resumes", self.until(lambda: self.output(ALIVE)["state"] == "live", 10) is not None)

    def retry(self):
        def waits_long():
            output = self.output(DEAD) or {}
            return (
                output.get("state") in ("backing_off", "refused", "given_up")
                and output.get("nextAttemptSeconds", 99) > 2
            )

        if not self.judge("an output without an answer waits", self.until(waits_long, 40) is not None):
            return
        self.browser.wait(f"document.querySelector({json.dumps(self.card(DEAD, 'retry'))})?.ariaDisabled !== 'true'", 3)
        self.judge("its card says why", self.shown(self.card(DEAD, "retry")), self.text(self.card(DEAD, "why")))
        before = self.output(DEAD)["attempts"]
        self.browser.press(self.card(DEAD, "retry"))
        self.judge("Retry now retries", self.until(lambda: self.output(DEAD)["attempts"] > before, 1.8) is not None)

    def remove_outputs(self):
        """Remove asks first, with focus on what keeps the output."""
        browser = self.browser
        browser.press(self.card(ALIVE, "remove"))
        browser.wait(f"document.querySelector({json.dumps(self.card(ALIVE, 'ask'))})?.hidden === false", 2)
        self.judge("Remove asks, with focus on Keep", self.focused() == "keep", self.text(self.card(ALIVE, "ask-text")))
        browser.press(self.card(ALIVE, "keep"))
        self.judge("Keep keeps it", self.output(ALIVE) is not None and not self.shown(self.card(ALIVE, "ask")))
        for name in (ALIVE, DEAD):
            browser.press(self.card(name, "remove"))
            browser.wait(f"document.querySelector({json.dumps(self.card(name, 'ask'))})?.hidden === false", 2)
            browser.press(self.card(name, "sure"))
            self.judge(f"{name} is removed", self.until(lambda: self.output(name) is None) is not None)
            # The next card moves up as this one goes: who presses before that meets another's button.
            gone = browser.wait(f"document.querySelector('[data-output][aria-label^=\"{name}\"]') === null", 3)
            self.judge("and its card goes", gone is not None)

    # ---- Recorder and recordings ----

    def recorder(self):
        browser = self.browser

        def recording():
            return self.report().get("recorder", {})

        if not self.judge("it records", self.until(lambda: recording().get("state") == "recording", 20) is not None):
            return
        time.sleep(2)
        before = recording()
        browser.press('#recorder [data-part="split"]')
        split = self.until(lambda: recording().get("segmentsFinished", 0) > before["segmentsFinished"], 15)
        self.judge("Split begins a new segment", split is not None)
        browser.press('#recorder [data-part="stop"]')
        browser.wait("document.querySelector('#recorder [data-part=ask]').hidden === false", 2)
        self.judge("Stop asks, with focus on Keep", self.focused() == "keep")
        browser.press('#recorder [data-part="keep"]')
        time.sleep(0.5)
        self.judge("Keep goes on recording", recording().get("state") == "recording")
        browser.press('#recorder [data-part="stop"]')
        browser.wait("document.querySelector('#recorder [data-part=ask]').hidden === false", 2)
        browser.press('#recorder [data-part="sure"]')
        self.judge("Stop stops", self.until(lambda: self.report().get("isRecordingWanted") is False, 10) is not None)
        told = browser.wait("document.querySelector('#rec-lamp').classList.contains('off')", 4)
        self.judge("the lamp goes out", told is not None, self.text("#rec-sub"))
        browser.wait("document.querySelector('#recorder [data-part=start]').checkVisibility()", 4)
        browser.press('#recorder [data-part="start"]')
        self.judge("Start starts", self.until(lambda: recording().get("state") == "recording", 20) is not None)

    def markers(self):
        """A marker with words by the button, one without by the key M."""
        browser = self.browser
        browser.press('#recorder [data-part="marker"]')
        browser.fill('#recorder [data-part="marker-text"]', "accepted here")
        browser.press('#recorder [data-part="marker-set"]')
        self.judge("Marker sets one", self.told("accepted here"))
        browser.evaluate("document.activeElement.blur()")
        browser.key("m", "KeyM", 77)
        self.judge("the key M sets one", self.told("Marker 2"))

    def told(self, words):
        """Whether an event with these words came to the page."""
        return (
            self.browser.wait(f"document.querySelector('#events ol').textContent.includes({json.dumps(words)})", 5)
            is not None
        )

    def files(self):
        listing = self.api.get(self.path("/recordings")) or {}
        return [file for file in listing.get("recordings", []) if file["state"] != "deleted"]

    def file(self, part, index=0):
        """The selector of a part of a finished file's row, the newest first."""
        rows = self.browser.evaluate(
            "[...document.querySelectorAll('#recordings .fl')].map((n, i) => n.querySelector('[data-part=writing]').hidden ? i : -1).filter(i => i >= 0)"
        )
        if len(rows) <= index:
            raise Failed("no finished recording is shown")
        return f"#recordings .fl:nth-child({rows[index] + 1}) [data-part={part}]"

    def recordings(self):
        browser = self.browser
        rows = browser.wait(
            "[...document.querySelectorAll('#recordings .fl [data-part=writing]')].some(n => n.hidden)", 10
        )
        self.judge("finished recordings are listed", rows is not None)
        held = len([file for file in self.files() if file["isHeld"]])
        browser.press(self.file("hold"))
        self.judge(
            "Hold holds", self.until(lambda: len([f for f in self.files() if f["isHeld"]]) == held + 1) is not None
        )
        browser.wait(f"document.querySelector('{self.file('hold')}').getAttribute('aria-busy') === null", 3)
        browser.press(self.file("hold"))
        self.judge(
            "and releases", self.until(lambda: len([f for f in self.files() if f["isHeld"]]) == held) is not None
        )
        thumbnail = browser.wait(f"document.querySelector('{self.file('thumbnail')}').naturalWidth > 0", 8)
        self.judge("a thumbnail is shown", thumbnail is not None)
        browser.press(self.file("play"))
        plays = browser.wait("document.querySelector('#player-video').currentTime > 0.3", 10)
        self.judge("Play plays the file", plays is not None, self.text("#player-title"))
        browser.press("#player-close")
        address = browser.evaluate(f"document.querySelector('{self.file('download')}').href")
        status, body = self.api.request(address.removeprefix(self.page))
        self.judge("Download gives the file", status == 200 and body[4:8] == b"ftyp", f"{status}, {len(body)} bytes")

    def delete(self):
        """Deletes the oldest finished file, if others stay: in two steps."""
        finished = [file for file in self.files() if file["state"] == "finished" and not file["isHeld"]]
        if len(finished) < 2:
            return self.tell("Delete", "not tried: there are not two finished recordings")
        browser, last = self.browser, min(finished, key=lambda file: file["start"])
        row = f'#recordings .fl:has([title="{last["name"]}"])'
        if not self.shown(row):
            browser.press('#recordings [data-part="more"]')
        browser.press(f"{row} [data-part=delete]")
        browser.wait(f"document.querySelector('{row} [data-part=keep]').checkVisibility()", 5)
        self.judge("Delete asks, with focus on Keep", self.focused() == "keep")
        self.judge("and has not deleted yet", any(file["id"] == last["id"] for file in self.files()))
        browser.press(f"{row} [data-part=sure]")
        self.judge(
            "then it deletes", self.until(lambda: all(file["id"] != last["id"] for file in self.files())) is not None
        )

    def clip(self):
        """A clip of the last seconds, out of the file that is being written, and its download."""
        browser = self.browser
        browser.press('#recordings [data-part="make"]')
        if (
            browser.wait("document.querySelector('#recordings .job [data-part=download]')?.hidden === false", 60)
            is None
        ):
            self.judge(
                "Make clip makes one",
                False,
                self.text("#recordings .jobs") + self.text('#recordings [data-part="failed"]'),
            )
            return
        self.judge("Make clip makes one", True, self.text("#recordings .job .note"))
        address = browser.evaluate("document.querySelector('#recordings .job [data-part=download]').href")
        status, body = self.api.request(address.removeprefix(self.page))
        self.judge("its download is a movie", status == 200 and body[4:8] == b"ftyp", f"{status}, {len(body)} bytes")
        browser.press('#recordings .job [data-part="cancel"]')
        self.judge(
            "Remove removes it", browser.wait("document.querySelector('#recordings .job') === null", 5) is not None
        )

    def film(self):
        """Clips by the key, and one file of them."""
        browser = self.browser
        listed = lambda: (self.api.get(self.path("/clips")) or {}).get("clips", [])
        before = len(listed())
        browser.press("#tab-clips")
        browser.wait("document.querySelector('#view-clips [data-part=hold]')?.ariaDisabled !== 'true'", 5)
        for number in range(3):
            for _ in range(2):
                browser.key("c", "KeyC", 67)
                time.sleep(1.2)
            self.until(lambda: len(listed()) > before + number, 5)
        whole = self.until(lambda: [clip["state"] for clip in listed()[before:]] == ["done"] * 3, 10)
        self.judge("a tap on C begins a clip, and the next one ends it", whole is not None, listed())
        if whole is None:
            return
        names = [clip["id"] for clip in listed()]
        cells = "document.querySelectorAll('#film .film-clip')"
        shown = browser.wait(f"{cells}.length === {len(names)}", 5)
        self.judge("each is a part of the file", shown is not None)
        pick = "#film .film-clip:nth-child(%d) [data-part=pick]"
        browser.press(pick % 1)
        for _ in range(2):
            browser.press("#film [data-part=in-more]")
        self.judge("frames are cut off its start", self.text("#film [data-part=in-words]") == "0:00:00:02")
        browser.evaluate("(document.querySelector('#film-out').focus(), true)")
        browser.key("ArrowLeft", "ArrowLeft", 37)
        words = browser.evaluate("document.querySelector('#film-out').getAttribute('aria-valuetext')")
        self.judge("an arrow on its slider cuts one off its end", "1 frame left out" in words, words)
        first = self.text(pick % 1)[2:]
        browser.evaluate(f"(document.querySelector('{pick % 1}').focus(), true)")
        browser.key("ArrowRight", "ArrowRight", 39, modifiers=1)
        moved = browser.wait(f"document.querySelector('{pick % 2}').textContent.slice(2) === {json.dumps(first)}", 3)
        self.judge("Alt and an arrow move it", moved is not None, self.text(pick % 2))
        browser.evaluate(
            "(() => { const n = document.querySelector('#film [data-part=type]'); n.value = 'fade';"
            " n.dispatchEvent(new Event('change')); return true; })()"
        )
        browser.press("#film [data-part=play]")
        plays = browser.wait("document.querySelector('#film video').currentTime > 0.3", 20)
        self.judge("Play the join plays it", plays is not None, self.text("#film [data-part=failed]"))
        gone = lambda: all(job["state"] != "done" for job in (self.api.get("v1/exports") or {})["exports"])
        self.judge("and its file is forgotten", self.until(gone, 20) is not None)
        browser.press("#film [data-part=make]")
        made = browser.wait("document.querySelector('#film [data-part=download]').hidden === false", 60)
        self.judge("one file is made of them", made is not None, self.text("#film [data-part=words]"))
        if made is not None:
            address = browser.evaluate("document.querySelector('#film [data-part=download]').href")
            status, body = self.api.request(address.removeprefix(self.page))
            self.judge("its download is a movie", status == 200 and body[4:8] == b"ftyp", f"{status}, {len(body)} bytes")
        browser.screenshot(os.path.join(self.options.out, "clips.png"))
        browser.shape(390, 844, 2, True)
        width = browser.evaluate("document.documentElement.scrollWidth")
        self.judge("clips do not scroll sideways at 390 pixels", width <= 390, f"{width} pixels")
        browser.screenshot(os.path.join(self.options.out, "clips-phone.png"))
        browser.shape(1440, 900)
        browser.press("#tab-live")

    # ---- Looks, keyboard, names ----

    def views(self):
        """Without a program of several sources nothing is said of one."""
        if self.api.request(self.path("/program"))[0] == 200:
            return self.tell("the view of a program", "judged by program.py")
        shown = self.shown("#tab-program") or self.shown("#views-bar [data-view=program]")
        self.judge("without a program of several sources there is no view of one", not shown)

    def screenshots(self):
        browser, out = self.browser, self.options.out
        for name, shape in (
            ("desktop-light", (1440, 900)),
            ("desktop-dark", (1440, 900, 1, False, True)),
            ("phone", (390, 844, 2, True)),
        ):
            browser.shape(*shape)
            browser.evaluate("scrollTo(0, 0)")
            time.sleep(1.2)
            browser.screenshot(os.path.join(out, f"{name}.png"))
        width = browser.evaluate("document.documentElement.scrollWidth")
        wide = browser.evaluate(
            "[...document.querySelectorAll('body *')].filter((node) => node.getBoundingClientRect().right > 391)"
            ".slice(0, 12).map((node) => `${node.tagName}#${node.id}.${node.className} ${node.dataset.part ?? ''}`)"
        )
        self.judge("no page scrolls sideways at 390 pixels", width <= 390, f"{width} pixels, beyond them: {wide}")
        small = browser.evaluate(
            """[...document.querySelectorAll('button, a.btn, input, select')].filter(n => n.checkVisibility())
            .map(n => [n.getBoundingClientRect(), n.getAttribute('aria-label') ?? n.textContent])
            .filter(([r]) => r.height > 0 && r.height < 40 && r.width > 20).map(([r, name]) => name.trim())"""
        )
        self.judge(
            "what can be touched is 40 pixels high at least",
            [name for name in small if "Segment" not in name] == [],
            small,
        )
        browser.shape(1440, 900)

    def names(self):
        """Every control, region and thing that is shown has a name for assistive technology."""
        nodes = self.browser.command("Accessibility.getFullAXTree")["nodes"]
        nameless = []
        for node in nodes:
            role = node.get("role", {}).get("value")
            if node.get("ignored") or role not in NAMED_ROLES:
                continue
            if not node.get("name", {}).get("value", "").strip() and not (
                role in ("list", "image") and not node.get("childIds")
            ):
                nameless.append(f"{role} {node.get('backendDOMNodeId')}")
        self.judge(
            "every control, field and region has a name", not nameless, ", ".join(nameless) or f"{len(nodes)} nodes"
        )
        twice = self.browser.evaluate("""[...document.querySelectorAll('[id]')].map(n => n.id)
            .filter((id, index, all) => all.indexOf(id) !== index)""")
        self.judge("each id is there once", not twice, twice or "")
        titles = self.browser.evaluate(
            "[...document.querySelectorAll('section.panel')].map(n => n.querySelectorAll('h2').length)"
        )
        self.judge("each panel has one heading", set(titles) == {1}, titles)

    def keyboard(self):
        """Tab goes through everything, focus is seen, and survives a minute's worth of updates in place."""
        browser = self.browser
        browser.evaluate("(scrollTo(0, 0), document.activeElement.blur(), true)")
        seen = []
        for _ in range(60):
            browser.key("Tab", number=9)
            seen.append(
                browser.evaluate(
                    """(() => { const n = document.activeElement; const o = getComputedStyle(n);
                return [n.tagName, n.id || n.dataset.part || n.getAttribute('aria-label') || '', o.outlineStyle !== 'none']; })()"""
                )
            )
        self.judge(
            "Tab goes from control to control",
            len({tuple(item) for item in seen}) > 15,
            f"{len({tuple(item) for item in seen})} of 60",
        )
        unseen = [f"{tag} {name}" for tag, name, is_seen in seen if not is_seen and tag not in ("BODY", "VIDEO")]
        self.judge("focus is always seen", not unseen, ", ".join(unseen))
        browser.evaluate(
            "(() => { window.held = document.querySelector('[data-output] [data-part=pause]') ?? document.querySelector('#theme'); held.focus(); })()"
        )
        time.sleep(4)
        self.judge(
            "updates leave focus where it is", browser.evaluate("document.activeElement === window.held") is True
        )

    # ---- Breaks ----

    def is_stale(self):
        return (
            "document.body.classList.contains('stale') && !document.querySelector('#stale').hidden && "
            "document.querySelector('#recorder [data-part=split]').ariaDisabled === 'true' && document.title.startsWith('?')"
        )

    def recovered(self, name, begin):
        """The page shows fresh data again and plays, without having been loaded anew."""
        browser = self.browser
        fresh = browser.wait("!document.body.classList.contains('stale')", 60)
        self.judge(f"{name}: fresh data again", fresh is not None, f"{time.monotonic() - begin:.1f} s")
        frames = browser.evaluate(self.FRAMES)
        plays = browser.wait(
            f"document.querySelector('#stage').classList.contains('moving') && {self.FRAMES} !== {frames}", 30
        )
        self.judge(f"{name}: the preview plays again", plays is not None)
        close = self.until(lambda: (browser.evaluate(self.LAG) or 99) <= 0.8, 5)
        self.judge(f"{name}: back within 0.8 s in 5 s", close is not None, "" if close is None else f"{close:.1f} s")
        self.judge(f"{name}: without a reload", browser.evaluate("window.notReloaded === true"))

    def stall(self):
        """What arrives late at once is caught up with."""
        if self.wire is None:
            return
        self.wire.stall(2.5)
        close = self.until(
            lambda: (self.browser.evaluate(self.LAG) or 99) <= 0.8
            and not self.browser.evaluate("document.querySelector('#preview').seeking"),
            5,
        )
        self.judge(
            "after a stall of 2.5 s: back within 0.8 s in 5 s",
            close is not None,
            "" if close is None else f"{close:.1f} s",
        )
        lags = [lag for lag in self.lags(3) if lag is not None]
        self.judge(
            "and it stays there",
            bool(lags) and statistics.median(lags) <= 0.8,
            f"median {statistics.median(lags or [99]):.2f} s",
        )

    def network_break(self):
        if self.wire is None:
            return
        browser = self.browser
        browser.evaluate("window.notReloaded = true")
        self.wire.cut(True)
        stale = browser.wait(self.is_stale(), 10)
        self.judge(
            "without a network what is shown looks old, and buttons are off",
            stale is not None,
            self.text("#stale-text"),
        )
        lamp = browser.evaluate("getComputedStyle(document.querySelector('#air-lamp')).backgroundColor")
        self.judge("and the lamps are hollow", lamp == "rgba(0, 0, 0, 0)", self.text("#air-lamp"))
        time.sleep(3)
        browser.screenshot(os.path.join(self.options.out, "stale.png"))
        self.wire.cut(False)
        self.recovered("after a network break", time.monotonic())

    def killed_target(self):
        if self.options.target_pid is None:
            return
        bad = "document.querySelectorAll('[data-output].bad').length"
        before = self.browser.evaluate(bad)
        os.kill(self.options.target_pid, signal.SIGKILL)
        seconds = self.browser.wait(f"{bad} > {before}", 10, each=0.02)
        words = "" if seconds is None else f"{seconds:.2f} s, {self.text('[data-output].bad [data-part=state]')}"
        self.judge("a killed target turns its card within 2 s", seconds is not None and seconds <= 2, words)

    def restart(self):
        if self.options.restart_command is None:
            return
        browser = self.browser
        browser.evaluate("window.notReloaded = true")
        began = (self.api.get("v1") or {}).get("startedAt")
        subprocess.run(shlex.split(self.options.restart_command), check=True, timeout=60)
        begin = time.monotonic()
        up = self.until(lambda: (self.api.get("v1") or {}).get("startedAt") not in (None, began), 60)
        self.judge("relay was restarted", up is not None)
        if self.options.token:
            # Its sessions may have gone with it: then the page asks again.
            if browser.wait("document.querySelector('#login').open", 8):
                self.sign_in(self.options.token)
        self.recovered("after a restart", begin)

    def viewer(self):
        """A viewer sees all, and can press nothing that acts."""
        if self.options.view_token is None:
            return
        browser = self.browser
        browser.evaluate("fetch('v1/session', {method: 'DELETE'}).then(() => true)")
        browser.open(self.page)
        browser.wait("document.querySelector('#login')?.open === true")
        self.sign_in(self.options.view_token)
        browser.wait(
            "!document.querySelector('#role').hidden && document.querySelector('#recorder [data-part=split]').ariaDisabled",
            8,
        )
        acting = """[...document.querySelectorAll('#recorder .btn, [data-output] .btn, #outputs [data-part=add], #recordings [data-part=make]')]
            .filter(n => n.checkVisibility())"""
        free = browser.evaluate(f"{acting}.filter(n => n.ariaDisabled !== 'true').map(n => n.textContent)")
        self.judge("a viewer can press nothing that acts", not free and self.shown("#role"), free)
        why = browser.evaluate(f"{acting}[0]?.title")
        self.judge("and is told why", bool(why), why)

    def console(self):
        """No mistakes of the page's own; what the network said while it was broken does not count."""
        own = [words for source, words in self.browser.log if source != "network"]
        self.judge("no mistake in the browser's console", not own, "; ".join(own)[:500])

    def play(self):
        """All of it; returns whether all holds."""
        self.part("beginning", self.begin)
        if self.channel:
            for name in (
                "cold_start",
                "preview",
                "clocks",
                "views",
                "screenshots",
                "names",
                "keyboard",
                "archive_boxes",
                "add_outputs",
                "name_taken",
                "pause_and_resume",
                "retry",
                "remove_outputs",
                "recorder",
                "markers",
                "recordings",
                "clip",
                "hold",
                "film",
                "strip",
                "hostile_names",
                "delete",
                "stall",
                "network_break",
                "killed_target",
                "restart",
                "viewer",
                "console",
            ):
                self.part(name.replace("_", " "), getattr(self, name))
        print(f"{self.failures} of the judgements failed" if self.failures else "all holds")
        return self.failures == 0


def parser(description):
    """What every trial of the page is told."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True, help="the page, http://127.0.0.1:PORT/")
    parser.add_argument("--token", help="an operator's token, if one is required")
    parser.add_argument("--channel", help="the channel to look at (default: the first)")
    parser.add_argument("--out", required=True, help="a directory for screenshots")
    parser.add_argument(
        "--pause", type=float, default=1.5, help="seconds between a wrong token and the right one (default: 1.5)"
    )
    parser.add_argument("--chromium", default="chromium", help="the browser (default: chromium)")
    return parser


def run(kind, options):
    """Plays a trial to its end, and ends this process with 1 if something does not hold."""
    options.url = options.url if options.url.endswith("/") else options.url + "/"
    os.makedirs(options.out, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    trial = kind(options)
    try:
        sys.exit(0 if trial.play() else 1)
    finally:
        trial.browser.close()


def main():
    options = parser(__doc__)
    options.add_argument("--view-token", help="a viewer's token, to judge what a viewer may press")
    options.add_argument(
        "--output", help="an address that works, for the output that is added (default: UDP to this script)"
    )
    options.add_argument("--target-pid", type=int, help="the process of an output's target, to be killed")
    options.add_argument("--restart-command", help="a command that restarts relay, and returns")
    options.add_argument(
        "--first-frame",
        type=float,
        help="seconds from a cold start to the first frame that are allowed (default: only printed)",
    )
    options.add_argument(
        "--no-wire", action="store_true", help="go to relay directly, not through a connection that can be broken"
    )
    run(Trial, options.parse_args())


if __name__ == "__main__":
    main()
