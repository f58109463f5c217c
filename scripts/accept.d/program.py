#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges the page's view of a program of several sources on a running relay, in headless Chromium: one line for each
judgement, and 1 at the end if one fails.

It cuts, fades, mutes, shows the slate, and stops and starts the recording. Give it a relay of its own, with at least two
sources, a scene with a name, an overlay of text, a stinger, a directory to record to and, to be judged, an audio input:

    relay --input 'test:#name=one' --input 'two.mp4#name=two' --loop --size 1280x720 --fps 30 --record DIR \\
        --audio-input music.wav --audio-from follow \\
        --scene duo=pip:one,two --overlay 'title=text:Hello' --stinger 'wipe=wipe.mov#cut=0.4' \\
        --rundown DIR --http 127.0.0.1:PORT --no-status
"""

import json
import os
import signal
import statistics
import time
import urllib.parse

import contrast
from page import Trial, parser, run

# What the page asks for from now on, with the answers; `window.refuseNext` makes the next change fail.
LISTEN = """(() => {
    window.asked = [];
    const real = window.fetch;
    window.fetch = async (...all) => {
        const method = all[1]?.method ?? 'GET', path = new URL(all[0], location).pathname, begin = performance.now();
        if (window.refuseNext && method !== 'GET') {
            window.refuseNext = false;
            return new Response(JSON.stringify({detail: 'The tests do not like that.'}),
                {status: 422, headers: {'Content-Type': 'application/problem+json'}});
        }
        const answer = await real(...all);
        window.asked.push({method, path, begin, end: performance.now(), status: answer.status});
        return answer;
    };
    return true;
})()"""

# A few pixels of the program's own preview, and how far two such lie apart.
LOOK = """(() => {
    window.look = () => {
        const c = window.lookCanvas ??= Object.assign(document.createElement('canvas'), {width: 16, height: 9});
        const x = c.getContext('2d', {willReadFrequently: true});
        x.drawImage(document.querySelector('#preview'), 0, 0, 16, 9);
        return x.getImageData(0, 0, 16, 9).data;
    };
    window.apart = (a, b) => a.reduce((sum, value, index) => sum + Math.abs(value - b[index]), 0);
    return true;
})()"""

# What can be touched and is too low for a finger.
SMALL = """[...document.querySelectorAll('button, input')].filter(n => n.checkVisibility())
    .map(n => [n.getBoundingClientRect(), (n.getAttribute('aria-label') ?? n.textContent).trim()])
    .filter(([r]) => r.height > 0 && r.height < 40).map(([r, name]) => `${name} ${r.height}`)"""

PARTS = [
    "snapshots",
    "cut",
    "answers",
    "snapshot_on_air",
    "auto",
    "slate",
    "keys",
    "focus",
    "layouts",
    "audio_only",
    "transition",
    "extras",
    "inset",
    "sound",
    "record",
    "rundown",
    "refusal",
    "looks",
    "readable",
    "touch_inset",
    "rundown_boxes",
    "lost",
    "back",
]


class ProgramTrial(Trial):
    """One run of the program's view."""

    def program(self):
        return self.api.get(self.path("/program")) or {}

    def put(self, rest, body):
        return self.api.request(self.path(rest), "PUT", body)

    def part_of(self, name):
        return f'#view-program [data-part="{name}"]'

    def becomes(self, name, condition, seconds=3.0):
        """Judges that a fact about the program comes about."""
        took = self.until(lambda: condition(self.program()), seconds)
        # Until the answer is shown a button does not act again.
        self.browser.wait("document.querySelector('#view-program [aria-busy]') === null", 2)
        return self.judge(name, took is not None, "" if took is not None else json.dumps(self.program())[:400])

    def single(self, name):
        return {"layout": "single", "sources": [name]}

    def stage(self, on_air, preview):
        """Puts scenes on air and into the preview, and waits until the page shows them."""
        self.put("/program", {"scene": on_air})
        self.put("/preview", {"scene": preview, "transition": {"type": "fade", "seconds": 1}})
        time.sleep(0.8)

    # ---- Opening ----

    def open_view(self):
        browser = self.browser
        browser.open(f"{self.page}#{urllib.parse.quote(self.channel)}")
        shown = browser.wait("document.querySelector('#tab-program')?.checkVisibility()", 15)
        self.judge("the switch between the views is there", shown is not None)
        browser.press("#tab-program")
        self.judge("Program shows the program", self.shown("#view-program") and not self.shown("#view-live"))
        fragment = browser.evaluate("location.hash")
        self.judge("the address remembers the view", fragment.endswith("/program"), fragment)
        browser.command("Page.reload")
        again = browser.wait("document.querySelector('#view-program')?.checkVisibility()", 15)
        self.judge("so a reload shows it again", again is not None)
        browser.evaluate(LISTEN)
        browser.evaluate(LOOK)
        plays = browser.wait(f"document.querySelector('#stage').classList.contains('moving') && {self.FRAMES} > 5", 15)
        self.judge("the program's monitor plays", plays is not None)
        sources = self.program()["sources"]
        self.names_of_sources = [source["name"] for source in sources if source["hasVideo"]]
        self.heard_alone = [source["name"] for source in sources if not source["hasVideo"]]
        tiles = browser.evaluate(
            "[...document.querySelectorAll('[data-source] [data-part=name]')].map(n => n.textContent)"
        )
        names = [source["name"] for source in sources]
        self.judge("each source has a tile, in order", tiles == names, ", ".join(tiles))

    def snapshots(self):
        """Snapshots of what is in sight come five times a second and more, one request for each at a time."""
        browser, name = self.browser, self.names_of_sources[0]
        status, _ = self.api.request(self.path(f"/sources/{urllib.parse.quote(name, safe='')}/snapshot.jpg?width=320"))
        if not self.judge("relay gives snapshots of its sources", status == 200, status):
            return
        browser.evaluate("(window.asked.length = 0, true)")
        time.sleep(4)
        asked = [one for one in browser.evaluate("window.asked") if one["path"].endswith("/snapshot.jpg")]
        for name in self.names_of_sources:
            own = [one for one in asked if f"/sources/{urllib.parse.quote(name)}/" in one["path"]]
            overlaps = [1 for one, two in zip(own, own[1:]) if two["begin"] < one["end"]]
            good = len([one for one in own if one["status"] == 200]) / 4
            self.judge(
                f"snapshots of {name} come 5 times a second, one request at a time",
                good >= 5 and not overlaps,
                f"{good:.1f}",
            )
        colors = browser.evaluate(
            """[...document.querySelectorAll('[data-source]:not(.audio-only) canvas')].map(c => new Set(new Uint32Array(
            c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size)"""
        )
        self.judge("and the tiles show them", min(colors) > 8, colors)

    # ---- On air ----

    def cut(self):
        one, two = self.names_of_sources[:2]
        self.stage(self.single(one), self.single(two))
        self.browser.key(" ", "Space", 32)
        self.becomes("Space takes: the preview is on air", lambda now: now["scene"]["sources"] == [two])
        self.becomes("and what was on air is in the preview", lambda now: now["preview"]["sources"] == [one])
        words = self.browser.wait(
            f"/frame \\d/.test(document.querySelector('{self.part_of('answer')}').textContent)", 2
        )
        self.judge("the answer's frame is shown", words is not None, self.text(self.part_of("answer")))
        tally = f"[...document.querySelectorAll('[data-source]')][1].classList.contains('on-air')"
        self.judge("its tile says on air", self.browser.wait(tally, 2) is not None)
        self.browser.press(self.part_of("take"))
        self.becomes("the button takes, too", lambda now: now["scene"]["sources"] == [one])
        self.judge("a click leaves no focus behind", self.browser.evaluate("document.activeElement === document.body"))

    def answers(self):
        """A command takes effect within two frames of when it was given."""
        rate = self.report()["frameRate"]
        behind = self.browser.evaluate("""(async () => {
            const path = (rest) => '%s' + rest, late = [];
            for (let i = 0; i < 9; i += 1) {
                const before = await (await fetch(path('/program'))).json(), then = performance.now();
                await new Promise((resolve) => setTimeout(resolve, 40));
                const passed = (performance.now() - then) * %f / 1000;
                const answer = await (await fetch(path('/take'), {method: 'POST'})).json();
                late.push(answer.frame - before.frame - passed);
                await new Promise((resolve) => setTimeout(resolve, 150));
            }
            return late;
        })()""" % (self.path(), rate["numerator"] / rate["denominator"]))
        median = statistics.median(behind)
        self.judge(
            "a take is answered with a frame no more than 2 later",
            median <= 2,
            f"median {median:.1f}, worst {max(behind):.1f}",
        )

    def snapshot_on_air(self):
        """What was taken is seen in the program's monitor within a second."""
        one, two = self.names_of_sources[:2]
        browser, seconds = self.browser, []
        for name, key in ((one, "a"), (two, "b")):
            self.put("/program", {"scene": self.single(name)})
            time.sleep(2.5)
            browser.evaluate(f"(window.{key} = window.look(), true)")
        is_one = "window.apart(window.look(), window.a) * 2 < window.apart(window.look(), window.b)"
        for _ in range(5):
            self.stage(self.single(one), self.single(two))
            time.sleep(2)
            if browser.wait(is_one, 10) is None:
                self.judge(
                    "what is taken is seen in the page within a second", False, "the sources cannot be told apart"
                )
                return
            seconds.append(browser.evaluate("""new Promise((resolve) => {
                const begin = performance.now();
                document.querySelector('#view-program [data-part=take]').click();
                const watch = setInterval(() => {
                    const now = window.look(), passed = performance.now() - begin;
                    if (window.apart(now, window.b) >= window.apart(now, window.a) && passed < 5000) return;
                    clearInterval(watch);
                    resolve(passed / 1000);
                }, 15);
            })"""))
        median = statistics.median(seconds)
        words = f"median {median:.2f} s of {', '.join(f'{value:.2f}' for value in seconds)}"
        self.judge("what is taken is seen in the page within a second", median <= 1, words)

    def auto(self):
        one, two = self.names_of_sources[:2]
        self.stage(self.single(one), self.single(two))
        browser = self.browser
        browser.key("Enter", "Enter", 13)
        runs = browser.wait(f"document.querySelector('{self.part_of('run')}').classList.contains('running')", 2, 0.02)
        self.judge("Enter runs the transition, and Auto fills", runs is not None, self.text(self.part_of("auto-words")))
        both = browser.wait("document.querySelectorAll('[data-source].on-air').length >= 2", 1, 0.02)
        self.judge("meanwhile both sources are on air", both is not None)
        self.becomes(
            "then the other is on air", lambda now: "progress" not in now and now["scene"]["sources"] == [two], 4
        )
        done = browser.wait("document.querySelectorAll('[data-source].on-air').length === 1", 2)
        self.judge("and alone", done is not None)

    def slate(self):
        one, two = self.names_of_sources[:2]
        self.stage(self.single(one), self.single(two))
        self.browser.press(self.part_of("slate"))
        self.becomes("Show slate shows it", lambda now: now["scene"]["layout"] == "slate")
        self.browser.wait(f"document.querySelector('{self.part_of('slate')}').ariaDisabled === 'true'", 2)
        self.judge(
            "and cannot be pressed again",
            self.browser.evaluate(f"document.querySelector('{self.part_of('slate')}').ariaDisabled === 'true'"),
        )
        self.browser.press(self.part_of("take"))
        self.becomes("Take leads back", lambda now: now["scene"]["sources"] == [two])

    # ---- Preview ----

    def keys(self):
        """Digits and tiles reach the preview only."""
        one, two = self.names_of_sources[:2]
        self.stage(self.single(one), self.single(one))
        self.browser.key("2", "Digit2", 50)
        self.becomes(
            "the key 2 brings the second source into the preview", lambda now: now["preview"]["sources"] == [two]
        )
        self.browser.press('[data-source]:nth-child(1) [data-part="pick"]')
        self.becomes("a tile does, too", lambda now: now["preview"]["sources"] == [one])
        self.judge("neither reaches what is on air", self.program()["scene"]["sources"] == [one])

    def focus(self):
        """A control reached by Tab keeps Space and Enter."""
        one, two = self.names_of_sources[:2]
        self.stage(self.single(one), self.single(two))
        browser = self.browser
        browser.evaluate(f"(document.querySelector('{self.part_of('swap')}').focus(), true)")
        browser.key("Tab", number=9)
        browser.wait(f"document.querySelector('{self.part_of('hint-held')}').checkVisibility()", 2)
        held = browser.evaluate("document.activeElement.dataset.part")
        self.judge(
            "the hint says what Space and Enter press",
            self.shown(self.part_of("hint-held")),
            self.text(self.part_of("hint-held")),
        )
        browser.evaluate("(document.querySelector('[data-source] [data-part=mute]').focus(), true)")
        browser.key(" ", "Space", 32)
        self.becomes("Space presses what holds focus", lambda now: now["sources"][0]["isMuted"])
        self.judge("and takes nothing", self.program()["scene"]["sources"] == [one], f"focus went to {held}")
        browser.key(" ", "Space", 32)
        self.becomes("and again", lambda now: not now["sources"][0]["isMuted"])
        browser.key("Escape", "Escape", 27)
        self.judge("Escape leads back to the desk", self.focused() == "desk")
        browser.key(" ", "Space", 32)
        self.becomes("where Space takes", lambda now: now["scene"]["sources"] == [two])

    def layouts(self):
        one, two = self.names_of_sources[:2]
        self.stage(self.single(one), self.single(one))
        browser = self.browser
        for layout in ("pip", "split-horizontal", "split-vertical", "grid", "single"):
            browser.press(f'{self.part_of("layouts")} [data-value="{layout}"]')
            self.becomes(f"the layout {layout} is chosen", lambda now: now["preview"]["layout"] == layout)
            browser.wait(
                f"document.querySelector('{self.part_of('layouts')} [data-value={layout}]').ariaChecked === 'true'", 2
            )
        name = self.program()["scenes"][0]
        browser.press(f'{self.part_of("scenes")} [aria-label="Scene {name} to the preview"]')
        self.becomes("a scene is chosen by its name", lambda now: now.get("previewName") == name)

    def audio_only(self):
        """A source without video is heard and never seen: no layout and no key has it, and no snapshot is asked for."""
        if not self.heard_alone:
            return self.tell("a source without video", "not judged without --audio-input")
        browser, name, one = self.browser, self.heard_alone[0], self.names_of_sources[0]

        def tile(part):
            return f'[data-source].audio-only [data-part="{part}"]'

        here = self.program()["sources"][-1]
        self.judge("what comes of it is told", here.get("input") == name, here)
        words = self.text(tile("state"))
        is_told = words.startswith("audio only") and "opened" not in words
        self.judge("its tile says that it is audio only", is_told, words)
        is_off = browser.evaluate(f"document.querySelector('{tile('pick')}').ariaDisabled === 'true'")
        self.judge("it has no number and cannot be pressed", is_off and not self.shown(tile("number")))
        self.judge("its mute and gain are there", self.shown(tile("mute")) and self.shown(tile("gain")))
        bar, bars = f"document.querySelector('{tile('left')}').style.getPropertyValue('--v')", []
        for _ in range(20):
            bars.append(browser.evaluate(f"Number({bar})"))
            time.sleep(0.1)
        self.judge("its level stands as long as it comes", min(bars) > 0.3, f"{min(bars)} to {max(bars)}")
        browser.evaluate("(window.asked.length = 0, true)")
        time.sleep(3)
        place = f"/sources/{urllib.parse.quote(name)}/"
        asked = [ask["path"] for ask in browser.evaluate("window.asked") if place in ask["path"]]
        self.judge("its snapshot is not asked for", not asked, asked[:3])
        self.stage(self.single(one), self.single(one))
        browser.press(f'{self.part_of("layouts")} [data-value="grid"]')
        seen = self.names_of_sources
        self.becomes("a grid has those that can be seen", lambda now: now["preview"]["sources"] == seen)

    def transition(self):
        browser = self.browser
        self.put("/preview", {"transition": {"type": "fade", "seconds": 1}})
        time.sleep(0.7)
        for part, value in (("families", "wipe"), ("ways-sides", "right"), ("easings", "in-out")):
            browser.press(f'{self.part_of(part)} [data-value="{value}"]')
            browser.wait(
                f"document.querySelector('{self.part_of(part)} [data-value={value}]').ariaChecked === 'true'", 2
            )
        browser.press(self.part_of("longer"))
        wanted = {"type": "wipe-right", "seconds": 1.5, "easing": "in-out"}
        self.becomes("transition, way, easing and length are chosen", lambda now: now["transition"] == wanted)
        self.browser.wait(f"document.querySelector('{self.part_of('auto-words')}').textContent.includes('1.5')", 2)
        self.judge("and Auto says so", "Wipe right 1.5 s" in self.text(self.part_of("auto-words")))
        browser.evaluate(f"(document.querySelector('{self.part_of('families')} [aria-checked=true]').focus(), true)")
        browser.key("ArrowRight", "ArrowRight", 39)
        self.becomes("arrows go through them", lambda now: now["transition"]["type"] == "zoom-in")
        browser.evaluate("(document.activeElement.blur(), true)")

    def extras(self):
        """Overlays and stingers, which have names of their own."""
        browser = self.browser
        of = '#view-program [data-part="overlays"] li:nth-child(1) [data-part="%s"]'

        def overlay(now):
            return now["overlays"][0]

        def press(part):
            browser.wait(f"document.querySelector('{of % part}')?.checkVisibility()", 3)
            browser.press(of % part)

        press("show")
        self.becomes("an overlay is shown by its button", lambda now: overlay(now)["isSeen"])
        seen = browser.wait(f"document.querySelector('{of % 'show'}').ariaPressed === 'true'", 3)
        self.judge("and its button says so", seen is not None)
        browser.evaluate(f"(document.querySelector('{of % 'text'}').focus(), document.activeElement.select(), true)")
        browser.command("Input.insertText", text="Ada <b> 1")
        browser.key("Enter", "Enter", 13)
        self.becomes("Enter gives a text other words", lambda now: overlay(now)["text"] == "Ada <b> 1")
        self.judge("and nothing was taken by it", "progress" not in self.program())
        browser.evaluate("(document.activeElement.blur(), true)")
        press("show")
        self.becomes("pressed again it is hidden", lambda now: not overlay(now)["isSeen"])
        press("release")
        self.becomes("it is left to the scenes again", lambda now: "visible" not in overlay(now))
        name = self.program()["stingers"][0]
        browser.press(f'{self.part_of("stingers")} [aria-label="Stinger {name} as the transition"]')
        self.becomes(
            "a stinger is chosen",
            lambda now: (now["transition"]["type"], now["transition"].get("name")) == ("stinger", name),
        )
        browser.wait(f"document.querySelector('{self.part_of('auto-words')}').textContent.includes('Stinger')", 2)
        self.judge("and Auto says so", f"Stinger {name}" in self.text(self.part_of("auto-words")))
        one, two = self.names_of_sources[:2]
        self.put("/program", {"scene": self.single(one)})
        self.put("/preview", {"scene": self.single(two)})
        time.sleep(0.8)
        browser.key("Enter", "Enter", 13)
        self.becomes("it runs over the change", lambda now: now["scene"]["sources"] == [two], 4)
        self.until(lambda: "progress" not in self.program(), 4)
        browser.press(f'{self.part_of("families")} [data-value="fade"]')
        self.becomes(
            "another transition takes its place",
            lambda now: now["transition"]["type"] == "fade" and "name" not in now["transition"],
        )

    # ---- Inset ----

    def inset_box(self):
        return self.browser.evaluate(
            "(() => { const r = document.querySelector('#view-program [data-part=inset]').getBoundingClientRect(),"
            " f = document.querySelector('#view-program [data-part=frame]').getBoundingClientRect();"
            " return {x: r.x, y: r.y, width: r.width, height: r.height, frame: {x: f.x, y: f.y, width: f.width, height: f.height}}; })()"
        )

    def drag(self, begin, end, steps=12):
        """Drags with a real mouse."""

        def mouse(kind, place):
            self.browser.command(
                "Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", buttons=1, clickCount=1
            )

        mouse("mousePressed", begin)
        for step in range(1, steps + 1):
            mouse("mouseMoved", [a + (b - a) * step / steps for a, b in zip(begin, end)])
            time.sleep(0.02)
        mouse("mouseReleased", end)

    def inset(self):
        one, two = self.names_of_sources[:2]
        pip = {"layout": "pip", "sources": [one, two], "inset": {"x": 0.7, "y": 0.7, "width": 0.25}}
        self.stage(self.single(one), pip)
        self.browser.evaluate("(scrollTo(0, 0), true)")
        box = self.inset_box()
        frame = box["frame"]
        middle = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
        # Nearly the middle, and nearly a fortieth from the top: both lines catch it.
        self.drag(middle, [frame["x"] + frame["width"] * 0.505, frame["y"] + frame["height"] * (0.125 + 0.03)])
        placed = {"x": 0.375, "y": 0.025, "width": 0.25}
        self.becomes(
            "the inset is dragged, and snaps to the middle and the margin",
            lambda now: now["preview"].get("inset") == placed,
        )
        self.judge("nothing of that is on air", self.program()["scene"] == self.single(one))
        box = self.inset_box()
        corner = [box["x"] + box["width"] - 3, box["y"] + box["height"] - 3]
        self.drag(corner, [corner[0] + frame["width"] * 0.1, corner[1] + frame["height"] * 0.1])
        self.becomes("its corner resizes it", lambda now: abs(now["preview"]["inset"]["width"] - 0.35) < 0.01)
        before = self.program()["preview"]["inset"]
        browser = self.browser
        browser.evaluate("(document.querySelector('#view-program [data-part=inset]').focus(), true)")
        for _ in range(2):
            browser.key("ArrowDown", "ArrowDown", 40)
        browser.key("ArrowLeft", "ArrowLeft", 37, modifiers=8)
        wanted = (before["y"] + 2 / 40, before["width"] - 1 / 40)
        self.becomes(
            "arrows move it, with Shift they resize it",
            lambda now: abs(now["preview"]["inset"]["y"] - wanted[0]) < 0.001
            and abs(now["preview"]["inset"]["width"] - wanted[1]) < 0.001,
        )
        browser.evaluate("(document.activeElement.blur(), true)")
        browser.press(self.part_of("inset"))
        self.becomes("a tap swaps main and inset", lambda now: now["preview"]["sources"] == [two, one])
        browser.key("s", "KeyS", 83)
        self.becomes("S swaps them back", lambda now: now["preview"]["sources"] == [one, two])
        drawn = browser.evaluate(
            """(() => { const c = document.querySelector('#view-program [data-part=preview]');
            return new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size; })()"""
        )
        self.judge("the preview is drawn", drawn > 8, f"{drawn} colors")

    # ---- Sound, recorder, refusals ----

    def sound(self):
        browser = self.browser
        gain = '[data-source]:nth-child(2) [data-part="gain"]'
        browser.evaluate(f"(document.querySelector('{gain}').focus(), true)")
        before = self.program()["sources"][1]["gain"]
        for _ in range(3):
            browser.key("ArrowLeft", "ArrowLeft", 37)
        self.becomes("gain is set by keys", lambda now: now["sources"][1]["gain"] == before - 3)
        words = browser.evaluate(f"document.querySelector('{gain}').getAttribute('aria-valuetext')")
        self.judge("and said in words", words.endswith("dB") and "minus" in words, words)
        browser.evaluate("(document.activeElement.blur(), true)")
        level = browser.evaluate("document.querySelector('[data-source] [role=meter]').getAttribute('aria-valuetext')")
        self.judge("levels are said in words", "dBFS" in level or "silent" in level, level)
        self.api.request(
            self.path(f"/sources/{urllib.parse.quote(self.names_of_sources[1], safe='')}"), "PATCH", {"gain": before}
        )

    def record(self):
        browser = self.browser
        words = browser.wait(
            f"/Rec \\d\\d:/.test(document.querySelector('{self.part_of('record-words')}').textContent)", 20
        )
        self.judge(
            "the record button tells how long it records", words is not None, self.text(self.part_of("record-words"))
        )
        browser.press(self.part_of("record"))
        browser.wait(f"document.querySelector('{self.part_of('ask')}').hidden === false", 2)
        self.judge("it asks before it stops, with focus on Keep", self.focused() == "keep")
        browser.press(self.part_of("keep"))
        self.judge("Keep keeps recording", self.report().get("isRecordingWanted") is not False)
        browser.press(self.part_of("record"))
        browser.wait(f"document.querySelector('{self.part_of('ask')}').hidden === false", 2)
        browser.press(self.part_of("sure"))
        self.judge("then it stops", self.until(lambda: self.report().get("isRecordingWanted") is False, 5) is not None)
        browser.wait(f"document.querySelector('{self.part_of('record-words')}').textContent === 'Record'", 4)
        browser.press(self.part_of("record"))
        began = self.until(lambda: self.report().get("recorder", {}).get("state") == "recording", 15)
        self.judge("and starts without asking", began is not None)

    def rundown(self):
        """A run-down is started, gone on with, held, cut away from and ended by its own buttons."""
        browser = self.browser
        one, two = self.names_of_sources[:2]
        shown = {"layout": "pip", "sources": [one, two]}
        segments = [
            {"source": one, "duration": "take"},
            {"name": "Both", "scene": shown, "duration": "2s"},
            {"name": "Close", "source": two, "duration": "take", "transition": {"type": "fade", "seconds": 0.5}},
        ]
        self.stage(self.single(two), self.single(one))
        self.judge("without a run-down nothing is shown of one", not self.shown("#rundown"))
        status, answer = self.put("/rundown", {"name": "Evening", "segments": segments})
        if not self.judge("relay takes a run-down", status == 200, answer[:200]):
            return
        loaded = browser.wait("document.querySelectorAll('#rundown .rundown-segment').length === 3", 8)
        self.judge("the page shows its segments", loaded is not None)
        self.judge("and that it was not started", "Not started" in self.text('#rundown [data-part="words"]'))

        def press(part):
            browser.press(f'#rundown [data-part="{part}"]')

        def current(number):
            selector = f"#rundown .rundown-segment:nth-child({number}).on-air"
            return browser.wait(f"document.querySelector('{selector}') !== null", 3) is not None

        press("start")
        self.becomes("Start puts its first segment on air", lambda now: now["scene"]["sources"] == [one])
        self.judge("which the timeline shows", current(1))
        press("next")
        self.becomes("Go to next now puts the second on air", lambda now: now["scene"]["layout"] == "pip")
        self.judge("which the timeline shows, too", current(2))
        self.becomes("the third follows by itself", lambda now: now["scene"]["sources"] == [two])
        self.judge("and is marked", current(3))
        press("hold")
        self.becomes("Hold here holds it", lambda now: now["runDown"]["state"] == "held")
        self.put("/preview", {"scene": self.single(one)})
        time.sleep(0.6)
        browser.press(self.part_of("take"))
        self.becomes("a Take cuts away from it", lambda now: now["runDown"].get("isCutAway") is True)
        browser.wait("document.querySelector('#rundown [data-part=words]').textContent.startsWith('Cut away')", 3)
        self.judge("which is told", self.text('#rundown [data-part="words"]').startswith("Cut away"))
        press("resume")
        self.becomes("Go back to it leads back", lambda now: now["scene"]["sources"] == [two])
        browser.press("#rundown .rundown-segment:nth-child(1) button")
        self.becomes("a segment starts it from there", lambda now: now["scene"]["sources"] == [one])
        press("stop")
        self.becomes("End it ends it", lambda now: now["runDown"]["state"] == "idle")
        self.names()

    def refusal(self):
        """What relay refuses is told in its words, where it was asked for, and what was there stays."""
        one, two = self.names_of_sources[:2]
        self.stage(self.single(one), self.single(two))
        self.browser.evaluate("(window.refuseNext = true)")
        self.browser.press(self.part_of("take"))
        told = self.browser.wait(f"document.querySelector('{self.part_of('failed')}').checkVisibility()", 3)
        self.judge("a refusal is told in relay's words", told is not None, self.text(self.part_of("failed")))
        self.judge(
            "and nothing changed",
            self.text(self.part_of("program-name")) == one,
            self.text(self.part_of("program-name")),
        )
        self.browser.press(self.part_of("take"))
        gone = self.browser.wait(f"!document.querySelector('{self.part_of('failed')}').checkVisibility()", 3)
        self.judge("the next success takes it away", gone is not None)

    # ---- Looks ----

    def looks(self):
        browser, out = self.browser, self.options.out
        one, two, *others = self.names_of_sources
        on_air, prepared = ([two, others[0]], [one, others[1]]) if len(others) > 1 else ([two, one], [one, two])
        self.stage({"layout": "pip", "sources": on_air}, {"layout": "pip", "sources": prepared})
        time.sleep(1)
        for name, shape in (
            ("program-light", (1440, 900)),
            ("program-dark", (1440, 900, 1, False, True)),
            ("program-middle", (1024, 900)),
            ("program-tablet", (1024, 1366, 1, True)),
            ("program-phone", (390, 844, 2, True)),
        ):
            browser.shape(*shape)
            browser.evaluate("(scrollTo(0, 0), true)")
            time.sleep(1.5)
            browser.screenshot(os.path.join(out, f"{name}.png"))
            width = browser.evaluate("document.documentElement.scrollWidth")
            self.judge(f"{name}: nothing scrolls sideways", width <= shape[0], f"{width} pixels")
            if shape[3:] and shape[3]:
                small = browser.evaluate(SMALL)
                self.judge(f"{name}: what can be touched is 40 pixels high at least", not small, small)
        docked = browser.evaluate(
            """['take', 'auto', 'slate'].map(name => document.querySelector(`#thumb-desk [data-part=${name}]`))
            .every(n => n.checkVisibility() && n.getBoundingClientRect().bottom <= innerHeight && n.getBoundingClientRect().height >= 44)"""
        )
        self.judge("on a phone Take, Auto and Slate are docked at the thumb", docked)
        self.names()
        browser.press('#thumb-desk [data-part="take"]')
        self.becomes("and the docked Take takes", lambda now: now["scene"]["sources"] == prepared)
        browser.shape(1440, 900)
        self.names()

    def readable(self):
        """Words on glass and on video, over a white frame and a black one, in both themes: WCAG 2.2, 1.4.3."""
        browser = self.browser
        for view, selector in (("program", ".tile, .mon"), ("live", ".deck .glass, .deck .cover")):
            browser.press(f"#tab-{view}")
            for theme, is_dark in (("light", False), ("dark", True)):
                browser.shape(1440, 900, 1, False, is_dark)
                time.sleep(1)
                for frame, color in (("white", "#fff"), ("black", "#000")):
                    words = contrast.worst(browser, selector, color)
                    least = f"{words[0]['text']} {words[0]['contrast']:.2f} of {len(words)}" if words else "no words"
                    self.judge(
                        f"{view}, {theme}: words over a {frame} frame have a contrast of 4.5 at least",
                        len(words) > 5 and words[0]["contrast"] >= 4.5,
                        least,
                    )
        browser.shape(1440, 900)
        browser.press("#tab-program")

    def touch_inset(self):
        """The inset is dragged and tapped by a finger, on a tablet."""
        browser = self.browser
        one, two = self.names_of_sources[:2]
        pip = {"layout": "pip", "sources": [one, two], "inset": {"x": 0.7, "y": 0.7, "width": 0.25}}
        browser.shape(1024, 1366, 1, True)
        self.stage(self.single(one), pip)
        browser.evaluate("(scrollTo(0, 0), true)")
        time.sleep(0.5)
        box = self.inset_box()
        frame = box["frame"]
        begin = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        end = (frame["x"] + frame["width"] * 0.505, frame["y"] + frame["height"] * 0.155)
        self.touch("touchStart", {"x": begin[0], "y": begin[1]})
        for step in range(1, 11):
            self.touch("touchMove", {axis: a + (b - a) * step / 10 for axis, a, b in zip("xy", begin, end)})
            time.sleep(0.02)
        self.touch("touchEnd")
        placed = {"x": 0.375, "y": 0.025, "width": 0.25}
        self.becomes("a finger drags the inset", lambda now: now["preview"].get("inset") == placed)
        box = self.inset_box()
        self.touch("touchStart", {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2})
        self.touch("touchEnd")
        self.becomes("a tap of a finger swaps it", lambda now: now["preview"]["sources"] == [two, one])
        browser.shape(1440, 900)

    def lost(self):
        """A source on air whose sender dies: the glance bar and the alarm name it, and nothing else is blamed."""
        pid, name = self.options.source_pid, self.names_of_sources[-1]
        if pid is None:
            return self.tell("a lost source", "not judged without --source-pid")
        browser = self.browser
        glance = "document.querySelector('.now-cell').textContent"
        self.stage(self.single(name), self.single(self.names_of_sources[0]))
        self.judge("while all is well nothing is told of sources", "no video" not in browser.evaluate(glance))
        os.kill(pid, signal.SIGKILL)
        told = browser.wait(f"{glance}.includes({json.dumps(name + ': no video')})", 15)
        self.judge("the glance bar names the source that is lost", told is not None, browser.evaluate(glance))
        alarm = self.text("#alarm-title") if self.shown("#alarm") else ""
        self.judge("so does the alarm over the video", f"No video from {name}" in alarm, alarm)
        self.put("/program", {"scene": self.single(self.names_of_sources[0])})
        gone = browser.wait("document.querySelector('#alarm').hidden", 5)
        self.judge("off air it is no alarm", gone is not None)
        told = browser.wait(f"{glance}.includes({json.dumps(name)})", 3)
        self.judge("and is still told of", told is not None, browser.evaluate(glance))

    def back(self):
        """The player moves on with the view, without a break."""
        browser = self.browser
        browser.press("#tab-live")
        frames = browser.evaluate(self.FRAMES)
        plays = browser.wait(
            f"document.querySelector('#deck #stage.moving') !== null && {self.FRAMES} > {frames} + 5", 5
        )
        self.judge("back in Live the same player plays on", plays is not None, browser.evaluate("location.hash"))
        browser.evaluate("(window.asked.length = 0, true)")
        time.sleep(2)
        asked = [
            one["path"]
            for one in browser.evaluate("window.asked")
            if "/sources/" in one["path"] or one["path"].endswith("/program")
        ]
        self.judge("and the program is not asked about any more", not asked, asked[:3])

    def play(self):
        self.part("beginning", self.begin)
        if self.channel:
            for name in ["open_view", *(self.options.only or PARTS), "console"]:
                self.part(name.replace("_", " "), getattr(self, name))
        print(f"{self.failures} of the judgements failed" if self.failures else "all holds")
        return self.failures == 0


def main():
    options = parser(__doc__)
    options.add_argument(
        "--only", nargs="+", choices=PARTS, metavar="PART", help=f"judge only these: {', '.join(PARTS)}"
    )
    options.add_argument("--source-pid", type=int, help="who sends the last source, to be killed")
    options.set_defaults(no_wire=True)
    run(ProgramTrial, options.parse_args())


if __name__ == "__main__":
    main()
