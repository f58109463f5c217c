// SPDX-License-Identifier: Apache-2.0
// The view of clips: the program with the button that records a clip, the strip of clips, and files made from them.

import { channelPath, get, patch, post, remove, urlOf } from "./api.js";
import { announce, byID, copy, enable, holdsFocus, isBlocked, KeyedList, onPress, partsOf, Question, setAttribute,
    setProperty, setShown, setText, showFailure } from "./dom.js";
import { FilmPanel } from "./film.js";
import { Press } from "./presses.js";
import { Thumbnail } from "./thumbnails.js";
import { count, duration, sentence, shortClock, timeOfDay } from "./words.js";

/** Milliseconds of a press from which the button counts as held. A shorter press is a tap; then the next tap ends the
 * clip. */
const tap = 300;
/** Milliseconds between two requests for the list of clips. */
const lookEach = 1000;

export class ClipsView {
    /** `recordings()` returns the known files, for thumbnails, and `live(file)` the current state of one; `seconds()`
     * returns the program time of the frame on screen, and `told()` the program time that relay reported last. */
    constructor({ recordings, live, seconds, told, known }) {
        Object.assign(this, { recordings, live, seconds, told, known });
        this.parts = partsOf(byID("view-clips"));
        this.isShown = false;
        this.clips = [];
        this.jobs = new Map();
        this.rows = new KeyedList(this.parts.strip, () => new ClipRow(this));
        this.film = new FilmPanel(byID("film"), this);
        this.#wire();
    }

    #wire() {
        const { hold, failed, replays } = this.parts;
        hold.addEventListener("pointerdown", (event) => {
            if (event.button !== 0) return;
            hold.setPointerCapture(event.pointerId);
            this.#down();
        });
        for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) {
            hold.addEventListener(name, () => this.#up());
        }
        // Keyboard clicks, which have no pointer, count as taps.
        hold.addEventListener("click", (event) => { if (event.detail === 0) this.#tapped(); });
        hold.addEventListener("contextmenu", (event) => event.preventDefault());
        for (const button of replays.children) {
            onPress(button, () => this.#replay(Number(button.dataset.seconds)), failed);
        }
        document.addEventListener("keyup", (event) => {
            if (this.isKeyDown && event.key.toLowerCase() === "c") this.#keyUp();
        });
        addEventListener("blur", () => { if (this.isKeyDown) this.#keyUp(); });
        addEventListener("pagehide", () => {
            this.running?.press.leave(this.#now());
            this.running = null;
        });
        setInterval(() => { if (this.isShown && !document.hidden) this.refresh(); }, lookEach);
        setInterval(() => { if (this.isShown) this.#clock(); }, 100);
    }

    // ---- Display ----

    /** Whether this view is visible. */
    show(isShown) {
        this.isShown = isShown;
        if (isShown) this.refresh();
    }

    /** Prepares for another channel. A pressed button is released, on the channel for which it was pressed. */
    reset() {
        if (this.running) this.#end();
        Object.assign(this, { clips: [], channel: null });
        this.jobs.clear();
        this.#render();
    }

    update({ report, channel }) {
        Object.assign(this, { report, channel });
        this.known(report.canRecord === true);
        setAttribute(this.parts.project, "href", urlOf(this.path("/project.yaml")));
        this.#render();
    }

    path(rest = "") { return channelPath(this.channel, `/clips${rest}`); }

    async refresh() {
        const { channel } = this;
        if (!channel || this.isReading) return;
        this.isReading = true;
        const waiting = this.film.waiting;
        try {
            const [{ clips }, jobs] = await Promise.all([get(this.path()),
                waiting.length || this.clips.some((clip) => clip.export) ? get("v1/exports") : { exports: [] }]);
            if (channel !== this.channel) return;
            this.clips = clips ?? [];
            this.jobs = new Map((jobs.exports ?? []).map((job) => [job.id, job]));
            this.film.forget(waiting.filter((id) => !this.jobs.has(id)));
            this.#render();
        } catch {
            // If relay does not answer, the page reports that elsewhere.
        } finally {
            this.isReading = false;
        }
    }

    #render() {
        const { parts } = this;
        const canPress = this.report?.canClip === true;
        const why = "A clip is a part of a recording: start it, or give --replay";
        enable(parts.hold, canPress || Boolean(this.running), why);
        for (const button of parts.replays.children) enable(button, canPress, why);
        this.rows.show([...this.clips].reverse(), (clip) => clip.id);
        this.film.update(this.channel, this.clips, this.jobs);
        setShown(parts.none, this.clips.length === 0);
        setText(parts.count, this.clips.length ? count(this.clips.length, "clip") : "");
        this.#clock();
    }

    #clock() {
        const { parts, running } = this;
        parts.hold.classList.toggle("holding", Boolean(running));
        setAttribute(parts.hold, "aria-pressed", String(Boolean(running)));
        setText(parts["hold-words"], running
            ? `Recording a clip · ${((performance.now() - running.since) / 1000).toFixed(1)} s` : "Hold to record a clip");
        setText(parts["hold-hint"], running?.isTapped ? "Tap to end it" : "or tap, and tap again");
    }

    // ---- Recording a clip ----

    /** Handles a key; returns whether the key belongs to this view. */
    key(event) {
        if (!this.isShown || event.key.toLowerCase() !== "c") return false;
        this.isKeyDown = true;
        this.#down();
        return true;
    }

    #keyUp() {
        this.isKeyDown = false;
        this.#up();
    }

    #tapped() {
        this.#down();
        this.#up();
    }

    #down() {
        if (this.running) {
            this.#end();
            return;
        }
        if (isBlocked() || this.parts.hold.getAttribute("aria-disabled") === "true") return;
        const press = new Press(this.channel, this.#now(), () => this.#unanswered());
        this.running = { press, since: performance.now(), isTapped: false, isHeld: true };
        setShown(this.parts.failed, false);
        press.taken.then(() => setShown(this.parts.failed, false)).catch((problem) => {
            if (this.running?.press === press) this.running = null;
            showFailure(this.parts.failed, problem);
        }).finally(() => this.#clock());
        this.#clock();
    }

    #up() {
        const { running } = this;
        if (!running?.isHeld) return;
        running.isHeld = false;
        if (performance.now() - running.since < tap) running.isTapped = true;
        else this.#end();
        this.#clock();
    }

    #end() {
        const { press } = this.running;
        this.running = null;
        press.end(this.#now()).then(() => {
            setShown(this.parts.failed, false);
            announce("The clip is recorded.");
            return this.refresh();
        }).catch((problem) => showFailure(this.parts.failed, problem));
        this.#clock();
    }

    /** A press or release that relay has not confirmed applies to the frame that was on screen then; only the report
     * to relay is late. */
    #unanswered() {
        setText(this.parts.failed, "relay does not answer. It is told again, with the same frame, until it does.");
        setShown(this.parts.failed, true);
    }

    async #replay(seconds) {
        const now = this.#now();
        const press = new Press(this.channel, { before: seconds, ...now });
        const clip = await press.taken;
        await press.end(now);
        await this.refresh();
        return clip.lackingSeconds ? `The last ${duration(Math.round(seconds - clip.lackingSeconds))} are a clip; nothing was recorded before.`
            : `The last ${seconds} seconds are a clip.`;
    }

    /** The frame on screen, if there is one; otherwise relay uses its newest frame, or, if the request is repeated,
     * the frame of `told`. */
    #now() {
        const at = this.seconds();
        return at === null ? { told: this.told() } : { at };
    }

    /** The address of an image of the frame in the recordings that is this many seconds behind the clip's first
     * frame: exactly that frame if `isExact`, otherwise the keyframe before it. */
    thumbnail(clip, seconds = 0, isExact = false) {
        const start = Date.parse(clip.start) + seconds * 1000;
        const file = this.recordings().find((one) => one.state !== "deleted" && Date.parse(one.start) <= start
            && start < Date.parse(this.live(one).end));
        if (!file) return null;
        const at = ((start - Date.parse(file.start)) / 1000).toFixed(3);
        return urlOf(channelPath(this.channel,
            `/recordings/${encodeURIComponent(file.id)}/thumbnail.jpg?width=320&at=${at}${isExact ? "&exact=1" : ""}`));
    }
}

class ClipRow {
    constructor(view) {
        this.view = view;
        this.root = copy("t-clip");
        const parts = this.parts = partsOf(this.root);
        this.question = new Question(parts, { failed: parts.failed });
        onPress(parts.make, async () => {
            await post(view.path(`/${encodeURIComponent(this.clip.id)}/export`), {});
            await view.refresh();
        }, parts.failed);
        onPress(parts.end, async () => {
            await post(view.path(`/${encodeURIComponent(this.clip.id)}/stop`), {});
            await view.refresh();
        }, parts.failed);
        onPress(parts.cancel, async () => {
            await remove(`v1/exports/${encodeURIComponent(this.clip.export)}`);
            await view.refresh();
            return "It is cancelled; nothing is left of it.";
        }, parts.failed);
        parts.name.addEventListener("change", () => this.#rename());
        parts.name.addEventListener("keydown", (event) => {
            if (event.key === "Escape") parts.name.value = this.clip.name ?? "";
            if (["Enter", "Escape"].includes(event.key)) parts.name.blur();
        });
        parts.delete.addEventListener("click", () => {
            if (parts.delete.getAttribute("aria-disabled") === "true") return;
            this.question.open(parts.delete, "Forget this clip? What was recorded stays.", async () => {
                await remove(view.path(`/${encodeURIComponent(this.clip.id)}`));
                await view.refresh();
                return "The clip is forgotten.";
            });
        });
        this.thumbnail = new Thumbnail(parts.thumbnail);
    }

    async #rename() {
        const { clip, parts, view } = this;
        const name = parts.name.value.trim();
        if (name === (clip.name ?? "")) return;
        setShown(parts.failed, false);
        try {
            await patch(view.path(`/${encodeURIComponent(clip.id)}`), { name: name || null });
            await view.refresh();
        } catch (problem) {
            parts.name.value = clip.name ?? "";
            showFailure(parts.failed, problem);
        }
    }

    update(clip) {
        const { parts } = this;
        const job = this.view.jobs.get(clip.export);
        const isUnderWay = job && ["queued", "running"].includes(job.state);
        this.clip = clip;
        this.#name(clip);
        setText(parts.length, clip.durationSeconds >= 60 ? shortClock(clip.durationSeconds)
            : `${clip.durationSeconds.toFixed(1)} s`);
        setText(parts.about, this.#words(clip, job));
        setShown(parts.progress, Boolean(isUnderWay));
        setProperty(parts.bar, "--done", job?.progress ?? 0);
        setAttribute(parts.progress, "aria-valuenow", Math.round((job?.progress ?? 0) * 100));
        setShown(parts.end, clip.state === "running");
        setShown(parts.cancel, Boolean(isUnderWay));
        enable(parts.cancel);
        setShown(parts.make, clip.state !== "running" && job?.state !== "done" && !isUnderWay);
        setShown(parts.download, job?.state === "done");
        if (job?.state === "done") setAttribute(parts.download, "href", urlOf(`v1/exports/${encodeURIComponent(job.id)}/file`));
        enable(parts.make, ["done", "ending"].includes(clip.state), "Nothing of it is recorded");
        enable(parts.end);
        enable(parts.delete);
        if (!["empty", "gone"].includes(clip.state) && this.thumbnail.address === null) this.thumbnail.show(this.view.thumbnail(clip));
    }

    /** Text that the user is editing is not overwritten. */
    #name(clip) {
        const { name } = this.parts;
        setAttribute(name, "placeholder", timeOfDay(clip.start));
        setAttribute(name, "aria-label", `Name of the clip of ${timeOfDay(clip.start)}`);
        if (!holdsFocus(name) && name.value !== (clip.name ?? "")) name.value = clip.name ?? "";
        name.readOnly = isBlocked();
    }

    #words(clip, job) {
        if (job?.state === "failed") return sentence(job.detail ?? "It could not be made");
        if (clip.state === "running") return `Since ${timeOfDay(clip.start)}`;
        if (clip.state === "empty") return "Nothing of it is recorded";
        if (clip.state === "gone") return "Exported; its recording is deleted";
        const made = job?.state === "queued" ? "waits its turn" : job?.state === "running" ? "being made"
            : clip.isHeld ? "kept until it is exported" : "exported";
        return `${timeOfDay(clip.start)} · ${made}`;
    }
}
