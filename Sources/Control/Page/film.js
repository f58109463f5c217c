// SPDX-License-Identifier: Apache-2.0
// One file of clips: their order, what is cut off each, how they come on, and the file that is made of them. The list is
// this browser's; nothing of it is relay's until a file is asked for.

import { post, remove, urlOf } from "./api.js";
import { copy, enable, holdsFocus, KeyedList, onPress, partsOf, setAttribute, setProperty, setShown, setText }
    from "./dom.js";
import { store, stored } from "./storage.js";
import { count, sentence, shortClock, timeOfDay } from "./words.js";

/** Seconds of either side of a join that is played. */
const around = 2;
/** Milliseconds by which audio can be moved. */
const furthest = 10000;
const within = (value, low, high) => Math.min(high, Math.max(low, value));

export class FilmPanel {
    /** `view` is the view of clips. */
    constructor(root, view) {
        Object.assign(this, { root, view, parts: partsOf(root), items: [], selected: null, job: null, join: null });
        const { parts } = this;
        this.cells = new KeyedList(parts.reel, () => new FilmCell(this));
        const { failed } = parts;
        for (const [name, key, step] of [["in-less", "skipStart", -1], ["in-more", "skipStart", 1],
            ["out-more", "skipEnd", 1], ["out-less", "skipEnd", -1]]) {
            onPress(parts[name], () => this.#trim(key, step), failed);
        }
        onPress(parts["audio-less"], () => this.#change((item) => { item.offset -= 1; }), failed);
        onPress(parts["audio-more"], () => this.#change((item) => { item.offset += 1; }), failed);
        onPress(parts.earlier, () => this.move(this.selected, -1), failed);
        onPress(parts.later, () => this.move(this.selected, 1), failed);
        onPress(parts.leave, () => this.#change((item) => { item.isOut = !item.isOut; }), failed);
        onPress(parts.play, () => this.#playJoin(), failed);
        onPress(parts.make, () => this.#make(), failed);
        onPress(parts.cancel, () => this.#cancel(), failed);
        for (const name of ["type", "seconds"]) {
            parts[name].addEventListener("change", () => this.#change((item) => { item[name] = parts[name].value; }));
        }
        parts.reel.addEventListener("keydown", (event) => this.#key(event));
        parts.video.addEventListener("ended", () => this.#closeJoin());
    }

    // ---- The list ----

    /** Takes the clips that there are, in the order of time: new ones come last. */
    update(channel, clips, jobs) {
        if (channel !== this.channel) this.#open(channel);
        this.jobs = jobs;
        this.clips = new Map(clips.filter(({ state, frames }) => ["done", "ending"].includes(state) && frames > 0)
            .map((clip) => [clip.id, clip]));
        const known = new Set(this.items.map(({ id }) => id));
        for (const id of this.clips.keys()) {
            if (!known.has(id)) this.items.push({ id, skipStart: 0, skipEnd: 0, offset: 0, type: "cut", seconds: "1" });
        }
        // What is forgotten is not asked for; before the first answer nothing is.
        if (clips.length > 0) this.items = this.items.filter(({ id }) => this.clips.has(id));
        this.#render();
    }

    #open(channel) {
        Object.assign(this, { channel, selected: null, job: null, join: null });
        try {
            this.items = (JSON.parse(stored(this.#place)) ?? []).filter((item) => typeof item?.id === "string");
        } catch {
            this.items = [];
        }
    }

    get #place() { return `film.${this.channel}`; }

    #store() { store(this.#place, JSON.stringify(this.items)); }

    /** Whether something was asked for that relay makes, or made. */
    get waits() { return this.job !== null || this.join !== null; }

    get #item() { return this.items.find(({ id }) => id === this.selected); }
    get #used() { return this.items.filter(({ id, isOut }) => !isOut && this.clips.has(id)); }

    #change(change) {
        const item = this.#item;
        if (!item) return;
        change(item);
        item.offset = within(item.offset, -furthest, furthest);
        this.#store();
        this.#render();
    }

    /** Cuts frames off, or gives them back; one stays. */
    #trim(key, step) {
        const item = this.#item;
        const left = this.clips.get(item?.id)?.frames - item?.skipStart - item?.skipEnd;
        if (step > 0 && !(left > 1)) return;
        this.#change((one) => { one[key] = Math.max(0, one[key] + step); });
    }

    select(id) {
        this.selected = id;
        this.#render();
    }

    /** Moves a clip by `step` places. */
    move(id, step) {
        const from = this.items.findIndex((item) => item.id === id);
        const to = from + step;
        if (from < 0 || to < 0 || to >= this.items.length) return undefined;
        this.items.splice(to, 0, ...this.items.splice(from, 1));
        this.#store();
        this.#render();
        return `Place ${to + 1} of ${this.items.length}`;
    }

    /** Puts the clip `id` where `target` is. */
    drop(id, target) {
        const [from, to] = [id, target].map((one) => this.items.findIndex((item) => item.id === one));
        if (from >= 0 && to >= 0) this.move(id, to - from);
    }

    #key(event) {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        const cell = [...this.cells.views.values()].find(({ root }) => holdsFocus(root));
        if (!step || !cell || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        if (event.altKey) {
            this.move(cell.item.id, step);
            cell.parts.pick.focus();
        } else {
            const next = this.items[this.items.findIndex(({ id }) => id === cell.item.id) + step];
            if (next) this.cells.get(next.id)?.parts.pick.focus();
        }
    }

    // ---- What is shown ----

    #render() {
        const { parts } = this;
        const used = this.#used;
        setShown(this.root, this.items.length > 0);
        this.cells.show(this.items.filter(({ id }) => this.clips.has(id)), ({ id }) => id);
        const seconds = used.reduce((sum, item) => sum + this.lengthOf(item), 0);
        setText(parts.total, `${count(used.length, "clip")} · ${shortClock(seconds)}`);
        this.#edit(used);
        this.#export(used);
    }

    lengthOf({ id, skipStart, skipEnd }) {
        const { frames, durationSeconds } = this.clips.get(id);
        return durationSeconds * Math.max(0, frames - skipStart - skipEnd) / frames;
    }

    #edit(used) {
        const { parts } = this;
        const item = this.#item;
        const clip = this.clips.get(item?.id);
        setShown(parts.edit, Boolean(clip));
        if (!clip) return;
        const index = this.items.indexOf(item);
        const left = clip.frames - item.skipStart - item.skipEnd;
        const frame = clip.durationSeconds / clip.frames;
        setText(parts["edit-title"], titleOf(clip));
        setText(parts["in-words"], `+${count(item.skipStart, "frame")}`);
        setText(parts["out-words"], `−${count(item.skipEnd, "frame")}`);
        enable(parts["in-less"], item.skipStart > 0, "It begins with its first frame");
        enable(parts["out-less"], item.skipEnd > 0, "It ends with its last frame");
        for (const name of ["in-more", "out-more"]) enable(parts[name], left > 1, "One frame stays");
        setText(parts["audio-words"], `${item.offset > 0 ? "+" : item.offset < 0 ? "−" : ""}${Math.abs(item.offset)} ms`);
        for (const name of ["audio-less", "audio-more"]) enable(parts[name]);
        for (const name of ["type", "seconds"]) if (parts[name].value !== item[name]) parts[name].value = item[name];
        setShown(parts["seconds-field"], item.type !== "cut");
        enable(parts.earlier, index > 0, "It is the first");
        enable(parts.later, index < this.items.length - 1, "It is the last");
        setText(parts["leave-words"], item.isOut ? "Put in" : "Leave out");
        enable(parts.leave);
        enable(parts.play, used.indexOf(item) > 0 && !this.join, this.join ? "A join is being made"
            : "There is no clip in front of it");
        for (const [name, seconds] of [["first", item.skipStart * frame],
            ["last", (clip.frames - item.skipEnd - 1) * frame]]) {
            const address = this.view.thumbnail(clip, seconds);
            if (address) setAttribute(parts[name], "src", address);
        }
        this.#showJoin();
    }

    #export(used) {
        const { parts } = this;
        const job = this.jobs.get(this.job);
        const isUnderWay = ["queued", "running"].includes(job?.state);
        setShown(parts.progress, isUnderWay);
        setProperty(parts.bar, "--done", job?.progress ?? 0);
        setAttribute(parts.progress, "aria-valuenow", Math.round((job?.progress ?? 0) * 100));
        setShown(parts.cancel, isUnderWay);
        enable(parts.cancel);
        setShown(parts.make, !isUnderWay);
        enable(parts.make, used.length > 0, "There is no clip in it");
        setShown(parts.download, job?.state === "done");
        if (job?.state === "done") setAttribute(parts.download, "href", fileOf(job));
        setText(parts.words, wordsOf(job));
    }

    // ---- What is asked for ----

    /** A part as the API has it. */
    #part(item, isFirst) {
        const part = { id: item.id, skipStart: item.skipStart, skipEnd: item.skipEnd };
        if (item.offset !== 0) part.audioOffset = item.offset / 1000;
        if (!isFirst && item.type !== "cut") part.transition = { type: item.type, seconds: Number(item.seconds) };
        return part;
    }

    #ask(body) { return post(this.view.path("/stitch"), body); }

    async #make() {
        const clips = this.#used.map((item, index) => this.#part(item, index === 0));
        this.job = (await this.#ask({ clips })).id;
        await this.view.refresh();
        return "The file is being made.";
    }

    async #cancel() {
        if (this.job) await remove(`v1/exports/${encodeURIComponent(this.job)}`);
        await this.view.refresh();
        return "It is cancelled; nothing is left of it.";
    }

    /** Makes a small file of the join in front of the clip that is chosen; it is played when it is there. */
    async #playJoin() {
        const used = this.#used;
        const item = this.#item;
        const before = used[used.indexOf(item) - 1];
        if (!before) return;
        const kept = (one, seconds) => {
            const { frames, durationSeconds } = this.clips.get(one.id);
            return Math.max(0, frames - one.skipStart - one.skipEnd - Math.ceil(seconds * frames / durationSeconds));
        };
        const length = around + (item.type === "cut" ? 0 : Number(item.seconds));
        const [one, two] = [this.#part(before, true), this.#part(item, false)];
        one.skipStart += kept(before, around);
        two.skipEnd += kept(item, length);
        this.join = { id: (await this.#ask({ clips: [one, two], hold: true })).id, of: item.id };
        await this.view.refresh();
    }

    #showJoin() {
        const { parts, join } = this;
        const job = this.jobs.get(join?.id);
        if (join && this.selected !== join.of) return this.#closeJoin();
        if (job?.state === "failed") {
            setText(parts.failed, sentence(job.detail ?? "The join could not be made"));
            setShown(parts.failed, true);
            return this.#closeJoin();
        }
        if (job?.state === "done" && !join.isShown) {
            join.isShown = true;
            setShown(parts.video, true);
            parts.video.src = fileOf(job);
            parts.video.play().catch(() => {});
        }
        return undefined;
    }

    /** Forgets the join, and its file. */
    #closeJoin() {
        const { join, parts } = this;
        if (!join) return;
        this.join = null;
        parts.video.removeAttribute("src");
        parts.video.load();
        setShown(parts.video, false);
        remove(`v1/exports/${encodeURIComponent(join.id)}`).catch(() => {});
        this.#render();
    }
}

const titleOf = (clip) => clip.name ?? timeOfDay(clip.start);
const fileOf = (job) => urlOf(`v1/exports/${encodeURIComponent(job.id)}/file`);

function wordsOf(job) {
    switch (job?.state) {
    case "queued": return "It waits its turn.";
    case "running": return job.secondsLeft > 1 ? `${Math.ceil(job.secondsLeft)} s left` : "";
    case "failed": return sentence(job.detail ?? "It could not be made");
    case "cancelled": return "It was cancelled.";
    case "done": return `${count(job.copiedFrames, "frame")} as recorded, ${job.encodedFrames} coded again`;
    default: return "";
    }
}

class FilmCell {
    constructor(panel) {
        this.panel = panel;
        this.root = copy("t-film");
        this.parts = partsOf(this.root);
        const { pick } = this.parts;
        pick.addEventListener("click", () => panel.select(this.item.id));
        pick.addEventListener("dragstart", (event) => {
            event.dataTransfer.setData("text/plain", this.item.id);
            event.dataTransfer.effectAllowed = "move";
        });
        this.root.addEventListener("dragover", (event) => event.preventDefault());
        this.root.addEventListener("drop", (event) => {
            event.preventDefault();
            panel.drop(event.dataTransfer.getData("text/plain"), this.item.id);
        });
    }

    update(item) {
        const { panel, parts } = this;
        const clip = panel.clips.get(item.id);
        this.item = item;
        const number = panel.items.indexOf(item) + 1;
        setText(parts.title, `${number} ${titleOf(clip)}`);
        const offset = item.offset === 0 ? "" : ` · audio ${item.offset > 0 ? "+" : "−"}${Math.abs(item.offset)} ms`;
        setText(parts.about, item.isOut ? "left out" : `${panel.lengthOf(item).toFixed(1)} s${offset}`);
        setText(parts.join, number === 1 ? "" : item.type === "cut" ? "Cut" : `${item.type} ${item.seconds} s`);
        this.root.classList.toggle("out", item.isOut === true);
        setAttribute(parts.pick, "aria-pressed", String(item.id === panel.selected));
        setAttribute(parts.pick, "aria-label", `Clip ${number}, ${titleOf(clip)}${item.isOut ? ", left out" : ""}`);
        const address = panel.view.thumbnail(clip);
        if (address && parts.thumbnail.getAttribute("src") === null) parts.thumbnail.src = address;
    }
}
