# SPDX-License-Identifier: Apache-2.0
"""Names and texts that somebody hostile gives: the page shows them as they are, and none of them does anything."""

import json
import time
import urllib.parse

# Whatever runs leaves a mark in the window. A name has 100 characters at most, and no slash.
NAMES = {
    "an image": '<img src=x onerror="window.hostile=1">',
    "a way out of an attribute": "\"'><svg onload=window.hostile=1> &lt;b&gt; &amp;",
    "a template": "${window.hostile=1} {{window.hostile=1}} `\\u003cb\\u003e`",
    "marks of another direction": "\u202eevil \u2067\u05d0\u05d1\u05d2 \u200f\u0645\u0631\u062d\u0628\u0627",
    "100 letters": "W" * 100,
    "marks upon marks": "a" + "\u0300\u0334\u0489" * 30,
}
LONG = '<img src=x onerror="window.hostile=1">' + "\u202e" + "W" * 161
ODD = "accept-odd"
HARMLESS = "window.hostile === undefined && document.querySelector('img[src=x], svg[onload]') === null"


class NameTrial:
    """What a trial of the page judges of hostile names; see page.py."""

    def hostile_names(self):
        """Of channels and outputs, which are refused; of markers, clips and exports, which are shown."""
        browser = self.browser
        browser.press("#tab-live")
        self.refused_names()
        self.marked()
        self.named_clip()
        self.named_export()
        self.odd_address()
        time.sleep(1)
        self.judge("nothing of all that has run", browser.evaluate(HARMLESS))
        for name in (NAMES["an image"], LONG):
            browser.open(f"{self.page}#{urllib.parse.quote(name, safe='')}")
            shown = browser.wait(f"document.title.includes({json.dumps(self.channel)})", 10)
            self.judge("the address of an unknown channel shows an existing one", shown is not None)
            self.judge("and nothing of it has run", browser.evaluate(HARMLESS))

    def refused_names(self):
        """A name that an address or a file could not have is not taken."""
        statuses = set()
        for name in (*NAMES.values(), LONG):
            address = f"udp://127.0.0.1:9#name={name}"
            statuses.add(self.api.request(self.path("/outputs"), "POST", {"address": address})[0])
            path = urllib.parse.quote(name, safe="")
            statuses.add(self.api.request(f"v1/channels/{path}")[0])
            statuses.add(self.api.request(self.path(f"/sources/{path}/snapshot.jpg"))[0])
        self.judge("such names of channels, sources and outputs are refused", statuses <= {400, 404, 409, 422}, statuses)

    def marked(self):
        """Markers may have any text."""
        lost = []
        for kind, text in {**NAMES, "200 characters": LONG}.items():
            status, body = self.api.request(self.path("/markers"), "POST", {"text": text})
            if status != 201 or not self.told(json.loads(body)["text"]):
                lost.append(kind)
        self.judge("the text of a marker is shown as it is", not lost, ", ".join(lost))
        self.narrow("markers")

    def named_clip(self):
        """So may clips, one line long."""
        browser, clips = self.browser, [clip for clip in self.clips_there() if clip["state"] == "done"]
        if not clips:
            return self.judge("a clip can be named", False, "there is none")
        field = '#view-clips .clip:first-child [data-part="name"]'
        path = self.path(f"/clips/{urllib.parse.quote(clips[0]['id'], safe='')}")
        browser.press("#tab-clips")
        lost = []
        for kind, name in NAMES.items():
            status, _ = self.api.request(path, "PATCH", {"name": name})
            value = f"[...document.querySelectorAll({json.dumps(field.replace(':first-child', ''))})].map(n => n.value)"
            shown = browser.wait(f"{value}.includes({json.dumps(name)})", 10)
            film = f"document.querySelector('#film').textContent.includes({json.dumps(name)})"
            if status != 200 or shown is None or browser.wait(film, 5) is None:
                lost.append(kind)
        self.judge("the name of a clip is shown as it is", not lost, ", ".join(lost))
        status, _ = self.api.request(path, "PATCH", {"name": LONG})
        self.judge("and one of 200 characters is refused", status == 422, status)
        self.api.request(path, "PATCH", {"name": None})
        self.narrow("clips")
        browser.press("#tab-live")

    def named_export(self):
        """The name of an export is its file's."""
        files = [file for file in self.files() if file["state"] == "finished" and file.get("end")]
        if not files:
            return self.judge("an export can be named", False, "no recording is finished")
        lost = []
        for kind, name in NAMES.items():
            asked = {"channel": self.channel, "from": files[0]["start"], "to": files[0]["end"], "name": name}
            status, body = self.api.request("v1/exports", "POST", asked)
            if status not in (201, 202):
                lost.append(f"{kind}: {status}")
                continue
            path = f"v1/exports/{urllib.parse.quote(json.loads(body)['id'], safe='')}"
            done = self.until(lambda: (self.api.get(path) or {}).get("state") not in ("queued", "running"), 30)
            status, data = self.api.request(f"{path}/file")
            if done is None or status != 200 or data[4:8] != b"ftyp":
                lost.append(f"{kind}: {status}")
            self.api.request(path, "DELETE")
        self.judge("an export may have such a name, and its file comes whole", not lost, ", ".join(lost))

    def odd_address(self):
        """The address of an output is shown, and so is what its server is said to have answered."""
        browser = self.browser
        address = f"rtmp://127.0.0.1:1/<img/src=x/onerror=window.hostile=1>/key#name={ODD}"
        status, body = self.api.request(self.path("/outputs"), "POST", {"address": address})
        card = f'document.querySelector(\'[data-output][aria-label^="{ODD},"]\')'
        shown = browser.wait(f"{card} !== null", 5)
        title = browser.evaluate(f"{card}?.querySelector('[data-part=name]')?.title ?? ''")
        self.judge("an address is shown as it is", status == 201 and shown is not None and "<img" in title, title)
        self.api.request(self.path(f"/outputs/{ODD}"), "DELETE")
        self.judge("and its output can be removed", self.until(lambda: self.output(ODD) is None) is not None, body[:200])

    def narrow(self, name):
        """Long names do not widen the page of a phone."""
        self.browser.shape(390, 844, 2, True)
        time.sleep(0.5)
        width = self.browser.evaluate("document.documentElement.scrollWidth")
        self.judge(f"hostile {name} do not scroll sideways at 390 pixels", width <= 390, f"{width} pixels")
        self.browser.shape(1440, 900)
