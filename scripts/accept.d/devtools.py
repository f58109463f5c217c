# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven by the DevTools protocol over two pipes: no port, and nothing beyond the standard library."""

import base64
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import time

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
    "--autoplay-policy=no-user-gesture-required",
    "--mute-audio",
    "--no-first-run",
    "--disable-background-networking",
]


class Failed(Exception):
    """The browser or the page did not do what it was told."""


class Browser:
    """One Chromium with one page, in a profile of its own."""

    def __init__(self, executable="chromium"):
        self.profile = tempfile.mkdtemp(prefix="relay-page-")
        self.number, self.answers, self.session, self.log = 0, {}, None, []
        self.changed, self.lock = threading.Condition(), threading.Lock()
        self._start(executable)
        threading.Thread(target=self._read, daemon=True).start()
        self._attach()

    def _start(self, executable):
        """Starts it with what it reads as descriptor 3 and what it writes as 4."""
        read_by_browser, self.output = os.pipe()
        self.input, written_by_browser = os.pipe()
        # Away from 3 and 4, which the child is about to give away.
        ends = [os.dup2(end, 200 + index) for index, end in enumerate((read_by_browser, written_by_browser))]
        os.close(read_by_browser)
        os.close(written_by_browser)

        def hand_over():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.process = subprocess.Popen(
            [executable, *FLAGS, f"--user-data-dir={self.profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=hand_over,
            close_fds=False,
            start_new_session=True,
        )
        for end in ends:
            os.close(end)

    def _attach(self):
        targets = self.command("Target.getTargets")["targetInfos"]
        target = next(info["targetId"] for info in targets if info["type"] == "page")
        self.session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.command(f"{domain}.enable")

    def _read(self):
        """Takes messages in, each ended by a zero byte, until the browser is gone."""
        rest = b""
        while True:
            try:
                data = os.read(self.input, 1 << 16)
            except OSError:
                data = b""
            if not data:
                break
            *messages, rest = (rest + data).split(b"\0")
            for message in messages:
                self._take(json.loads(message))

    def _take(self, message):
        if "id" in message:
            with self.changed:
                self.answers[message["id"]] = message
                self.changed.notify_all()
            return
        self._note(message.get("method"), message.get("params", {}))

    def _note(self, method, parameters):
        """Keeps what a browser's console would show in red: (where from, words)."""
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.log.append(("exception", details.get("exception", {}).get("description", details.get("text", ""))))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] == "error":
            self.log.append(
                ("console", " ".join(str(item.get("value", item.get("description"))) for item in parameters["args"]))
            )
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.log.append((parameters["entry"]["source"], parameters["entry"]["text"]))

    def command(self, method, **parameters):
        """Sends a command and returns its result."""
        with self.lock:
            self.number += 1
            number = self.number
            message = {"id": number, "method": method, "params": parameters}
            if self.session:
                message["sessionId"] = self.session
            os.write(self.output, json.dumps(message).encode() + b"\0")
        with self.changed:
            if not self.changed.wait_for(lambda: number in self.answers, timeout=30):
                raise Failed(f"{method}: no answer")
            answer = self.answers.pop(number)
        if "error" in answer:
            raise Failed(f"{method}: {answer['error'].get('message')}")
        return answer["result"]

    def evaluate(self, expression):
        """The value of a JavaScript expression, promises awaited."""
        result = self.command(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True
        )
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise Failed(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def wait(self, expression, seconds=5.0, each=0.05):
        """Waits until the expression is true; returns the seconds that took, or None."""
        begin = time.monotonic()
        while time.monotonic() - begin < seconds:
            if self.evaluate(expression):
                return time.monotonic() - begin
            time.sleep(each)
        return None

    def open(self, address):
        """Goes to an address. A mere change of the fragment does not count as going."""
        self.command("Page.navigate", url="about:blank")
        self.command("Page.navigate", url=address)

    def shape(self, width, height, scale=1, mobile=False, dark=False):
        """The window's size, and which theme the system asks for."""
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=mobile
        )
        self.command("Emulation.setTouchEmulationEnabled", enabled=mobile)
        theme = "dark" if dark else "light"
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def screenshot(self, path):
        data = self.command("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def press(self, selector):
        """A real click in the middle of the element, which must be what lies there."""
        place = self.evaluate(f"""(() => {{
            const node = document.querySelector({json.dumps(selector)});
            if (!node) return null;
            node.scrollIntoView({{block: 'center', behavior: 'instant'}});
            const r = node.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2;
            const top = document.elementFromPoint(x, y);
            return {{x, y, isTop: top !== null && (node.contains(top) || top.contains(node))}};
        }})()""")
        if place is None:
            raise Failed(f"there is no {selector}")
        if not place["isTop"]:
            raise Failed(f"{selector} is covered or hidden")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.command("Input.dispatchMouseEvent", type=kind, x=place["x"], y=place["y"], button="left", clickCount=1)

    def fill(self, selector, text):
        """Types into a field, in place of what was there."""
        self.evaluate(
            f"(() => {{ const f = document.querySelector({json.dumps(selector)}); f.focus(); f.select(); }})()"
        )
        self.command("Input.insertText", text=text)

    def key(self, key, code=None, number=0, modifiers=0):
        """Presses a key."""
        text = {"text": "\r" if key == "Enter" else key} if len(key) == 1 or key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.command(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=code or key,
                windowsVirtualKeyCode=number,
                modifiers=modifiers,
                **(text if kind == "keyDown" else {}),
            )

    def close(self):
        """Ends the browser and all it started, and removes its profile."""
        try:
            self.session = None
            self.command("Browser.close")
            self.process.wait(10)
        except (Failed, OSError, subprocess.TimeoutExpired):
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()
        for end in (self.input, self.output):
            try:
                os.close(end)
            except OSError:
                pass
        shutil.rmtree(self.profile, ignore_errors=True)
