# SPDX-License-Identifier: Apache-2.0
"""The button that makes clips, held by mouse, key and finger, over a broken network and beyond the page; and exports of
clips in the strip."""

import time


class HoldTrial:
    """What a trial of the page judges of the view of clips; see page.py."""

    HOLD = '#view-clips [data-part="hold"]'

    def clips_there(self):
        return (self.api.get(self.path("/clips")) or {}).get("clips", [])

    def newest(self, known):
        """The clip that there was not before, when it is whole; None if there is none."""
        new = [clip for clip in self.clips_there() if clip["id"] not in known]
        return new[0] if len(new) == 1 and new[0]["state"] == "done" else None

    def place_of(self, selector):
        return self.browser.evaluate(
            f"(() => {{ const r = document.querySelector('{selector}').getBoundingClientRect();"
            " return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()"
        )

    def mouse(self, kind, place):
        self.browser.command("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)

    def touch(self, kind, *places):
        self.browser.command("Input.dispatchTouchEvent", type=kind, touchPoints=list(places))

    def held(self, name, begin, end, seconds=1.3, between=None):
        """Judges that what is held for so long becomes one clip of about that length."""
        known = {clip["id"] for clip in self.clips_there()}
        begin()
        time.sleep(seconds)
        end()
        if between:
            between()
        self.until(lambda: self.newest(known), 12)
        clip = self.newest(known)
        length = clip["durationSeconds"] if clip else None
        self.judge(name, clip is not None and seconds - 0.7 <= length <= seconds + 0.7, length)

    def hold(self):
        """Held for as long as the clip is to be: not a tap that begins and a tap that ends it."""
        browser = self.browser
        browser.press("#tab-clips")
        browser.wait(f"document.querySelector('{self.HOLD}')?.ariaDisabled !== 'true'", 5)
        # What is pressed is the frame that is seen: it must be moving evenly.
        time.sleep(2)
        place = self.place_of(self.HOLD)
        down, up = (lambda: self.mouse("mousePressed", place)), (lambda: self.mouse("mouseReleased", place))
        self.held("the button, held by the mouse, makes a clip", down, up)

        def key(kind):
            browser.command("Input.dispatchKeyEvent", type=kind, key="c", code="KeyC", windowsVirtualKeyCode=67)

        self.held("so does the key, held", lambda: key("rawKeyDown"), lambda: key("keyUp"))

        def network(is_off):
            browser.command(
                "Network.emulateNetworkConditions",
                offline=is_off,
                latency=0,
                downloadThroughput=-1,
                uploadThroughput=-1,
            )

        def break_and_release():
            network(True)
            up()

        def back_later():
            time.sleep(2)
            network(False)

        self.held("a release without a network ends it where it was", down, break_and_release, between=back_later)
        browser.wait("document.querySelector('#stage.moving') !== null && !document.body.classList.contains('stale')", 15)
        self.held("a page that is left releases it", down, lambda: browser.command("Page.navigate", url="about:blank"))
        browser.open(f"{self.page}#{self.channel}/clips")
        browser.wait(f"document.querySelector('{self.HOLD}')?.checkVisibility()", 15)
        browser.wait(f"document.querySelector('{self.HOLD}')?.ariaDisabled !== 'true'", 5)
        browser.shape(390, 844, 2, True)
        time.sleep(0.5)
        browser.evaluate(f"document.querySelector('{self.HOLD}').scrollIntoView({{block: 'center', behavior: 'instant'}})")
        finger = self.place_of(self.HOLD)
        begin, end = (lambda: self.touch("touchStart", finger)), (lambda: self.touch("touchEnd"))
        self.held("the button, held by a finger, makes a clip", begin, end)

        def tap():
            begin()
            time.sleep(0.05)
            end()

        self.held("a tap begins one, and the next tap ends it", tap, tap)
        browser.shape(1440, 900)

    def strip(self):
        """Exports in the strip: one that waits is cancelled, and one is made; a clip gets a name."""
        browser, clips = self.browser, [clip for clip in self.clips_there() if clip["state"] == "done"]
        newest = '#view-clips .clip:first-child [data-part="%s"]'
        browser.press("#tab-clips")
        browser.evaluate("(scrollTo(0, 0), true)")
        # A file that is coded again as a whole is made before it.
        parts = [{"id": clips[0]["id"]}] + [{"id": clip["id"], "audioOffset": 0.01} for clip in clips[1:2] * 30]
        status, _ = self.api.request(self.path("/clips/stitch"), "POST", {"clips": parts, "hold": True})
        self.judge("something is to be made before", status == 202, status)
        browser.press(newest % "make")
        under_way = browser.wait(f"document.querySelector('{newest % 'cancel'}').checkVisibility()", 5)
        self.judge("Export offers to be cancelled", under_way is not None)
        if under_way is not None:
            browser.press(newest % "cancel")
            again = browser.wait(f"document.querySelector('{newest % 'make'}').checkVisibility()", 10)
            self.judge("Cancel cancels it", again is not None, self.text(newest % "failed"))
        browser.press(newest % "make")
        made = browser.wait(f"document.querySelector('{newest % 'download'}').checkVisibility()", 60)
        self.judge("Export makes it", made is not None, self.text(newest % "about"))
        browser.fill(newest % "name", "The goal")
        browser.key("Enter", "Enter", 13)
        named = self.until(lambda: any(clip.get("name") == "The goal" for clip in self.clips_there()), 5)
        self.judge("a clip gets a name", named is not None, self.text(newest % "failed"))
        browser.press("#tab-live")
