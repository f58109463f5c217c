// SPDX-License-Identifier: Apache-2.0
// The run-down of a program as a timeline of past, current and coming segments, with the operator's controls. Its
// position is part of the program's reports; its segments are requested when another run-down may have been loaded.

import { get, post } from "./api.js";
import { copy, enable, KeyedList, onPress, partsOf, setAttribute, setProperty, setShown, setText } from "./dom.js";
import { transitionWords } from "./scenes.js";
import { count, duration, grouped, hourAndMinute } from "./words.js";

/** Milliseconds after which the segments are requested again, because another user may have loaded another run-down. */
const patience = 5000;

export class RunDownPanel {
    constructor(root, feed) {
        this.parts = partsOf(root);
        Object.assign(this, { root, feed, segments: null, asked: -patience });
        const { parts } = this;
        for (const name of ["start", "stop", "hold", "resume", "follow", "next"]) {
            onPress(parts[name], () => this.#ask(name), parts.failed);
        }
        this.list = new KeyedList(parts.segments, () => new SegmentButton(
            (index) => this.#ask(`start?segment=${index}`), parts.failed));
    }

    reset() {
        Object.assign(this, { segments: null, asked: -patience, place: null });
        setShown(this.root, false);
        setShown(this.parts.failed, false);
    }

    async #ask(what) {
        const { frame } = await this.feed.change(() => post(this.feed.path(`/rundown/${what}`)));
        return `Run-down: from frame ${grouped(frame)} on`;
    }

    /** Shows the run-down of a report of the program. */
    update(report) {
        const now = report.runDown;
        setShown(this.root, now !== undefined);
        if (!now) return;
        this.#look(now);
        this.#buttons(now);
        setText(this.parts.name, now.name);
        setText(this.parts.words, wordsOf(now, this.segments));
        const trouble = troubleOf(now);
        setShown(this.parts.trouble, trouble !== "");
        setText(this.parts.trouble, trouble);
        this.#timeline(now);
    }

    /** Requests the segments from time to time, and at once if the report names another run-down. */
    async #look({ name, current }) {
        const isOther = name !== this.name || (current && this.segments && !this.segments[current.index]);
        if (this.isLooking || (!isOther && performance.now() - this.asked < patience)) return;
        const { channel } = this.feed;
        Object.assign(this, { isLooking: true, asked: performance.now(), name });
        try {
            const { segments } = await get(this.feed.path("/rundown"));
            if (channel === this.feed.channel) this.segments = segments;
        } catch {
            // The last known segments are kept until the next answer.
        } finally {
            this.isLooking = false;
        }
    }

    #buttons({ state, isCutAway }) {
        const { parts } = this;
        const isHeld = state === "held";
        const isMoving = state === "running" || isHeld;
        setShown(parts.start, !isMoving);
        for (const name of ["stop", "next"]) setShown(parts[name], isMoving);
        setShown(parts.hold, state === "running");
        setShown(parts.resume, isHeld);
        setShown(parts.follow, isHeld);
        setText(parts["resume-words"], isCutAway ? "Go back to it" : "Go on");
        for (const name of ["start", "stop", "hold", "resume", "follow", "next"]) enable(parts[name]);
    }

    #timeline(now) {
        if (!this.segments) return;
        const place = now.current?.index ?? -1;
        const next = now.next?.index ?? -1;
        this.list.show(this.segments.map((segment, index) => ({
            index, segment,
            isCurrent: index === place, isNext: index === next && index !== place, isDone: index < place,
            current: index === place ? now.current : undefined, isHeld: now.state === "held",
        })), ({ index }) => index);
        // The segment on air is scrolled into view when it begins; after that, the user's scrolling is not disturbed.
        if (place === this.place || place < 0) return;
        this.place = place;
        const { root } = this.list.get(place);
        const list = this.parts.segments;
        list.scrollTo({ left: root.offsetLeft - list.offsetLeft - list.clientWidth / 3, behavior: "smooth" });
    }
}

/** The problems since the run-down was started. */
function troubleOf({ failure, lateFrames }) {
    const late = lateFrames > 0 ? `${count(lateFrames, "frame")} too late in all: files were not ready in time.` : "";
    return [failure === undefined ? "" : `Left out: ${failure}`, late].filter(Boolean).join(" ");
}

/** The state as text, such as `Next Guest · Flip 0.5 s · in 41 s · ends 14:51`. */
function wordsOf(now, segments) {
    if (now.state === "idle") return "Not started";
    if (now.state === "over") return "Over · what was on air last stays";
    if (now.state === "held") {
        const follows = now.follows === undefined ? "it would be over by now" : `by now: ${segments?.[now.follows]?.name ?? "…"}`;
        return now.isCutAway ? `Cut away · ${follows}` : `Held · ${follows}`;
    }
    const parts = [];
    const { next, current } = now;
    if (next) {
        const change = segments?.[next.index]?.transition;
        parts.push(`Next ${next.name}`);
        if (change) parts.push(transitionWords(change));
        if (next.isReady === false) parts.push("its file is not ready");
    } else {
        parts.push("Nothing comes next");
    }
    if (current?.remainingSeconds !== undefined) parts.push(`in ${duration(Math.ceil(current.remainingSeconds))}`);
    else if (next) parts.push("when you say so, or at the end of the file");
    if (now.remainingSeconds !== undefined && !now.loops) {
        parts.push(`ends ${hourAndMinute(Date.now() + now.remainingSeconds * 1000)}`);
    }
    return parts.join(" · ");
}

/** The second line of a segment: its duration and state. */
function lengthWords({ segment, current, isHeld }) {
    if (current?.remainingSeconds !== undefined) return `${duration(Math.ceil(current.remainingSeconds))} left`;
    if (current) return isHeld ? "held" : `for ${duration(current.elapsedSeconds)}`;
    const length = segment.seconds === undefined
        ? { end: "to its end", take: "until you say so" }[segment.until] ?? "" : duration(segment.seconds);
    return segment.transition ? `${transitionWords(segment.transition)} · ${length}` : length;
}

class SegmentButton {
    constructor(start, failed) {
        this.root = copy("t-segment");
        this.parts = partsOf(this.root);
        onPress(this.parts.start, () => start(this.index), failed);
    }

    update(item) {
        const { parts, root } = this;
        const { segment, current } = item;
        this.index = item.index;
        setText(parts.name, segment.name);
        const words = lengthWords(item);
        setText(parts.length, words);
        setProperty(root, "--seconds", Math.min(1800, Math.max(30, segment.seconds ?? 60)));
        const whole = (current?.elapsedSeconds ?? 0) + (current?.remainingSeconds ?? 0);
        setProperty(root, "--t", current && whole > 0 ? (current.elapsedSeconds / whole).toFixed(3) : 0);
        root.classList.toggle("on-air", item.isCurrent);
        root.classList.toggle("coming", item.isNext);
        root.classList.toggle("done", item.isDone);
        setAttribute(parts.start, "aria-current", item.isCurrent ? "step" : null);
        setAttribute(parts.start, "aria-label", `Start from ${segment.name}, ${words}`);
        enable(parts.start);
    }
}
