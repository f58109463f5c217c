# SPDX-License-Identifier: Apache-2.0
"""Where the page's boxes are: each child is inside of its parent, what belongs to a time is drawn at that time, and nothing
is wider than the window; for archives and run-downs of many sizes, in windows of many widths, light and dark."""

import json
import os
import time

WIDTHS = (360, 390, 768, 1366, 1440)
FILES = (0, 1, 8, 49, 500)
SEGMENTS = (1, 3, 40)
LONG = "the-longest-name-that-an-operator-gives-to-anything-at-all-without-a-single-space-in-it-" * 2

# Resolves when the page was laid out and drawn.
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"

# Answers what the page asks of the archive with `window.madeArchive`, if there is one, and has the page ask at once.
ARCHIVE = """(() => {
    if (window.showArchive) return true;
    const real = window.fetch;
    window.fetch = (...all) => {
        const path = new URL(all[0], location).pathname;
        const isReading = (all[1]?.method ?? 'GET') === 'GET' && path.endsWith('/recordings');
        if (!window.madeArchive || !isReading) return real(...all);
        return Promise.resolve(new Response(JSON.stringify(window.madeArchive),
            {headers: {'Content-Type': 'application/json'}}));
    };
    window.showArchive = (archive) => {
        window.madeArchive = archive;
        document.querySelector('#recordings [data-part=range]').dispatchEvent(new Event('change'));
        return true;
    };
    return true;
})()"""

# `outside(parent, children)`: those of `children` that reach out of `parent`. `boxFaults(width)`: what is wider than the
# window, what reaches out of its panel, and whether the phone's tabs can be reached. `timelineFaults()`: what of the made
# archive is not drawn at its time. `rundownFaults(count)`: what of a run-down's segments is cut, too small or not in order.
BOXES = """(() => {
    const words = (node) =>
        `${node.tagName.toLowerCase()}.${[...node.classList].join('.')} ${node.dataset?.part ?? ''}`.trim();
    const shown = (node) => node.checkVisibility() && node.getClientRects().length > 0;
    const scrolls = (node) => ['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(node).overflowX);
    window.outside = (parent, children, slack = 1) => {
        const place = parent.getBoundingClientRect();
        return children.filter(shown).filter((node) => {
            const box = node.getBoundingClientRect();
            return box.left < place.left - slack || box.right > place.right + slack
                || box.top < place.top - slack || box.bottom > place.bottom + slack;
        }).map((node) => `${words(node)} out of ${words(parent)}`);
    };
    window.boxFaults = (width) => {
        const root = document.documentElement, faults = [];
        if (root.scrollWidth !== root.clientWidth) faults.push(`${root.scrollWidth} pixels in ${root.clientWidth}`);
        if (innerWidth !== width) faults.push(`the window is ${innerWidth} pixels wide`);
        for (const panel of document.querySelectorAll('.panel')) {
            if (!shown(panel)) continue;
            const inside = [];
            const walk = (node) => {
                for (const child of node.children) {
                    if (child.closest('.sr, svg')) continue;
                    inside.push(child);
                    if (!scrolls(child)) walk(child);
                }
            };
            walk(panel);
            faults.push(...window.outside(panel, inside));
        }
        const bar = document.querySelector('#views-bar');
        if (width <= 700 && !bar.hidden) {
            const box = bar.getBoundingClientRect();
            const isIn = box.left >= 0 && box.right <= width && box.bottom <= innerHeight && box.height >= 44;
            const cut = window.outside(bar, [...bar.children]);
            if (!isIn || cut.length) faults.push('the tabs are off the screen');
        }
        return faults;
    };
    window.timelineFaults = () => {
        const day = document.querySelector('#recordings [data-part=day]');
        if (!shown(day)) return ['there is no timeline'];
        const {recordings, gaps} = window.madeArchive, place = day.getBoundingClientRect(), faults = [];
        const first = Math.min(...recordings.map((file) => Date.parse(file.start)));
        const last = Math.max(...recordings.map((file) => Date.parse(file.end)), first + 1000);
        const room = (last - first) * 0.02 + 500;
        const at = (time) => place.left + (Date.parse(time) - first + room) / (last - first + 2 * room) * place.width;
        const compare = (nodes, items, least) => {
            if (nodes.length !== items.length) faults.push(`${nodes.length} of ${items.length} are shown`);
            nodes.slice(0, items.length).forEach((node, index) => {
                const box = node.getBoundingClientRect(), item = items[index];
                const length = Math.max(least, at(item.end) - at(item.start));
                if (Math.abs(box.left - at(item.start)) > 1.5) {
                    faults.push(`${words(node)} ${index} at ${box.left.toFixed(1)}, not ${at(item.start).toFixed(1)}`);
                }
                if (Math.abs(box.width - length) > 3) {
                    faults.push(`${words(node)} ${index} is ${box.width.toFixed(1)} wide`);
                }
                if (box.height < 20) faults.push(`${words(node)} ${index} is ${box.height.toFixed(1)} high`);
            });
            faults.push(...window.outside(day, nodes, least));
        };
        const oldestFirst = [...recordings].sort((a, b) => Date.parse(a.start) - Date.parse(b.start));
        compare([...day.querySelectorAll('[data-part=segments] > *')], oldestFirst, 3);
        compare([...day.querySelectorAll('[data-part=marks] > .gap')], gaps, 7);
        return faults;
    };
    window.rundownFaults = (count) => {
        const list = document.querySelector('#rundown [data-part=segments]'), faults = [];
        const all = [...list.children], isColumn = innerWidth <= 700;
        if (all.length !== count) faults.push(`${all.length} segments in place of ${count}`);
        const least = isColumn ? list.clientWidth - 8 : 92;
        let end = -Infinity;
        for (const [index, node] of all.entries()) {
            const box = node.getBoundingClientRect(), start = isColumn ? box.top : box.left;
            if (start < end - 0.5) faults.push(`segment ${index} begins before the end of the one before`);
            end = isColumn ? box.bottom : box.right;
            if (box.width < least) faults.push(`segment ${index} is ${box.width.toFixed(0)} pixels wide`);
            if (box.height < 44) faults.push(`segment ${index} is ${box.height.toFixed(0)} pixels high`);
            faults.push(...window.outside(node, [...node.querySelectorAll('*')]));
        }
        const [first, place] = [all[0], list].map((node) => node.getBoundingClientRect().left);
        const edge = first + list.scrollLeft - place;
        if (edge < 0 || edge > 12) faults.push(`the first segment is ${edge} pixels from the left edge`);
        return faults;
    };
    return true;
})()"""


def archive(count, end=None):
    """An archive of `count` files with names that are long, a gap after each tenth, and one that is damaged."""
    end = end or time.time() - 30
    length, recordings, gaps = 600, [], []

    def stamp(seconds):
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03d}Z"

    start = end - count * length
    for index in range(count):
        lost = 45 if index % 10 == 9 else 0
        begin, stop = start + index * length, start + (index + 1) * length - lost
        recordings.append(
            {
                "id": f"made-{index}",
                "name": f"{LONG}/{index}.mp4",
                "start": stamp(begin),
                "end": stamp(stop),
                "durationSeconds": stop - begin,
                "bytes": 450_000_000_000,
                "state": "damaged" if index == 2 else "finished",
                "isHeld": index % 3 == 0,
                "upload": "done" if index % 2 else "waiting",
                "sha256": "0" * 64,
            }
        )
        if lost:
            gap = {"start": stamp(stop), "end": stamp(stop + lost), "durationSeconds": lost, "cause": "disk_full"}
            gaps.append(gap)
    return {"recordings": recordings[::-1], "gaps": gaps, "events": []}


class BoxTrial:
    """What a trial of the page judges of its boxes; see page.py."""

    def shapes(self):
        """Gives the browser each shape in turn: its name and its width."""
        for width in WIDTHS:
            for is_dark in (False, True):
                self.browser.shape(width, 844 if width < 700 else 900, 1, width < 700, is_dark)
                self.browser.evaluate(DRAWN)
                yield f"{width} {'dark' if is_dark else 'light'}", width

    def judge_boxes(self, name, expression):
        """Judges that `expression` finds no fault in any shape of the window; `WIDTH` in it is the window's."""
        faults = {}
        for shape, width in self.shapes():
            found = self.browser.evaluate(expression.replace("WIDTH", str(width)))
            if found:
                faults[shape] = [len(found), *found[:3]]
                file = f"boxes {name} {shape}.png".replace(" ", "-").replace(",", "")
                self.browser.screenshot(os.path.join(self.options.out, file))
        self.judge(f"{name}: each box is where it belongs", not faults, faults or f"{2 * len(WIDTHS)} windows")
        self.browser.shape(1440, 900)

    def archive_boxes(self):
        """The timeline of the archive, and its files."""
        browser = self.browser
        browser.press("#tab-live")
        browser.evaluate(f"{ARCHIVE} && {BOXES}")
        for count in FILES:
            browser.evaluate(f"showArchive({json.dumps(archive(count))})")
            shown = browser.wait(
                f"document.querySelectorAll('#recordings [data-part=segments] > *').length === {count}"
                if count
                else "!document.querySelector('#recordings [data-part=none]').hidden"
            )
            if not self.judge(f"an archive of {count} files is shown", shown is not None):
                continue
            if count == 49:
                browser.press("#recordings [data-part=more]")
            timeline = "...timelineFaults()" if count else ""
            self.judge_boxes(f"an archive of {count} files", f"[...boxFaults(WIDTH), {timeline}]")
            if count == 49:
                browser.press("#recordings [data-part=more]")
        browser.evaluate("showArchive(null)")

    def rundown_boxes(self):
        """The run-down's timeline, before its start and while it is played."""
        browser, source = self.browser, self.names_of_sources[0]
        browser.evaluate(BOXES)
        for count in SEGMENTS:
            segments = [
                {"name": f"{index} {LONG}"[:200], "source": source, "duration": f"{30 + 600 * (index % 3)}s"}
                for index in range(count)
            ]
            status, answer = self.put("/rundown", {"name": LONG[:60], "segments": segments})
            taken = status == 200
            if not self.judge(f"relay takes a run-down of {count} segments", taken, "" if taken else answer[:200]):
                continue
            browser.wait(f"document.querySelectorAll('#rundown [data-part=segments] > *').length === {count}", 8)
            self.judge_boxes(f"a run-down of {count} segments", f"[...boxFaults(WIDTH), ...rundownFaults({count})]")
            browser.press('#rundown [data-part="start"]')
            browser.wait("document.querySelector('#rundown .on-air') !== null", 5)
            self.judge_boxes(f"the same on air, of {count}", f"[...boxFaults(WIDTH), ...rundownFaults({count})]")
            browser.press('#rundown [data-part="stop"]')
            browser.wait("document.querySelector('#rundown [data-part=start]').checkVisibility()", 5)
