// SPDX-License-Identifier: Apache-2.0
// One file made from clips: the order of the clips, what is cut off from each, their transitions, and the file itself.
// The list is stored in this browser; relay receives it only when a file is requested.

import { post, remove, urlOf } from "./api.js";
import { enable, holdsFocus, isBlocked, KeyedList, onPress, partsOf, setAttribute, setProperty, setShown, setText }
    from "./dom.js";
import { FilmCell, titleOf } from "./film-cell.js";
import { FilmPlan } from "./film-plan.js";
import { FilmTrim } from "./film-trim.js";
import { colorWords, usualColor } from "./scenes.js";
import { store, stored } from "./storage.js";
import { count, sentence, shortClock } from "./words.js";

/** Seconds on either side of a join that are played. */
const around = 2;
/** The most milliseconds by which audio can be moved. */
const furthest = 10000;
/** The number of clips that are added to the file automatically, and the most that it can have. */
const room = { usual: 20, most: 1000 };
const within = (value, low, high) => Math.min(high, Math.max(low, value));

export class FilmPanel {
    /** `view` is the view of clips. */
    constructor(root, view) {
        Object.assign(this, { root, view, parts: partsOf(root), items: [], selected: null, job: null, join: null });
        const { parts } = this;
        this.cells = new KeyedList(parts.reel, () => new FilmCell(this));
        const { failed } = parts;
        this.trim = new FilmTrim(parts.edit, {
            change: (skipStart, skipEnd) => this.#change((item) => Object.assign(item, { skipStart, skipEnd })),
            thumbnail: (clip, seconds) => view.thumbnail(clip, seconds, true),
        });
        this.plan = new FilmPlan(parts.plan, (clips) => post(view.path("/plan"), { clips }));
        for (const [name, isOut] of [["all", false], ["no-one", true]]) {
            onPress(parts[name], () => this.#putAll(isOut), failed);
        }
        onPress(parts["audio-less"], () => this.#change((item) => { item.offset -= 1; }), failed);
        onPress(parts["audio-more"], () => this.#change((item) => { item.offset += 1; }), failed);
        onPress(parts.earlier, () => this.move(this.selected, -1), failed);
        onPress(parts.later, () => this.move(this.selected, 1), failed);
        onPress(parts.leave, () => this.#change((item) => { item.isOut = !item.isOut; }), failed);
        onPress(parts.play, () => this.#playJoin(), failed);
        onPress(parts.make, () => this.#make(), failed);
        onPress(parts.cancel, () => this.#cancel(), failed);
        for (const name of ["type", "seconds", "color"]) {
            parts[name].addEventListener("change", () => this.#change((item) => { item[name] = parts[name].value; }));
        }
        parts.reel.addEventListener("keydown", (event) => this.#key(event));
        parts.video.addEventListener("ended", () => this.#closeJoin());
        addEventListener("pagehide", () => this.#dropJoin());
    }

    // ---- The list ----

    /** Takes the list of existing clips, in the order of time. New clips are added at the end; above a certain number
     * they are excluded until the user includes them. */
    update(channel, present, jobs) {
        if (channel !== this.channel) this.#open(channel);
        this.jobs = jobs;
        this.clips = new Map(present.filter(({ state, frames }) => ["done", "ending"].includes(state) && frames > 0)
            .map((clip) => [clip.id, clip]));
        const known = new Set(this.items.map(({ id }) => id));
        for (const id of this.clips.keys()) {
            if (known.has(id)) continue;
            this.items.push({ id, skipStart: 0, skipEnd: 0, offset: 0, type: "cut", seconds: "1",
                isOut: this.#used.length >= room.usual });
        }
        // Clips that relay has deleted are removed. Before relay's first answer the list of clips is empty, and no clip
        // is removed.
        if (present.length > 0) this.items = this.items.filter(({ id }) => this.clips.has(id));
        this.#render();
    }

    #open(channel) {
        this.#dropJoin();
        Object.assign(this, { channel, selected: null, job: null, items: [] });
        try {
            const { items, job } = JSON.parse(stored(this.#place));
            this.items = items.filter((item) => typeof item?.id === "string");
            this.job = typeof job === "string" ? job : null;
        } catch {
            // There is no stored list yet.
        }
    }

    get #place() { return `film.${this.channel}`; }

    #store() { store(this.#place, JSON.stringify({ items: this.items, job: this.job })); }

    /** The ids of the jobs that relay runs, or has run, for this list. */
    get waiting() { return [this.job, this.join?.id].filter(Boolean); }

    /** Forgets jobs that relay has deleted. */
    forget(jobs) {
        if (jobs.includes(this.job)) {
            this.job = null;
            this.#store();
        }
        if (jobs.includes(this.join?.id)) this.#dropJoin();
    }

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

    /** Excludes all clips, or includes all. */
    #putAll(isOut) {
        for (const item of this.items) item.isOut = isOut;
        this.#store();
        this.#render();
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

    /** Moves the clip `id` to the position of `target`. */
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

    // ---- Display ----

    #render() {
        const { parts } = this;
        const used = this.#used;
        setShown(this.root, this.items.length > 0);
        this.cells.show(this.items.filter(({ id }) => this.clips.has(id)), ({ id }) => id);
        const seconds = used.reduce((sum, item) => sum + this.lengthOf(item), 0);
        setText(parts.total, `${count(used.length, "clip")} · ${shortClock(seconds)}`);
        enable(parts.all, used.length < this.clips.size, "All are in it");
        enable(parts["no-one"], used.length > 0, "None is in it");
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
        setText(parts["edit-title"], titleOf(clip));
        this.trim.update(item, clip);
        setText(parts["audio-words"], `${item.offset > 0 ? "+" : item.offset < 0 ? "−" : ""}${Math.abs(item.offset)} ms`);
        for (const name of ["audio-less", "audio-more"]) enable(parts[name]);
        for (const name of ["type", "seconds"]) if (parts[name].value !== item[name]) parts[name].value = item[name];
        if (!holdsFocus(parts.color)) parts.color.value = item.color ?? usualColor;
        setShown(parts["color-field"], colorWords(item.type) !== "");
        setText(parts["color-words"], colorWords(item.type));
        setShown(parts["seconds-field"], item.type !== "cut");
        enable(parts.earlier, index > 0, "It is the first");
        enable(parts.later, index < this.items.length - 1, "It is the last");
        setText(parts["leave-words"], item.isOut ? "Put in" : "Leave out");
        enable(parts.leave);
        enable(parts.play, used.indexOf(item) > 0 && !this.join, this.join ? "A join is being made"
            : "There is no clip in front of it");
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
        enable(parts.make, used.length > 0 && used.length <= room.most,
            used.length ? `A file has ${room.most} clips at most` : "There is no clip in it");
        setShown(parts.download, job?.state === "done");
        if (job?.state === "done") setAttribute(parts.download, "href", fileOf(job));
        setText(parts.words, wordsOf(job));
        this.plan.show(isUnderWay || !this.view.isShown || isBlocked() ? [] : this.#asked);
    }

    // ---- Requests ----

    /** A part in the format of the API. */
    #part(item, isFirst) {
        const part = { id: item.id, skipStart: item.skipStart, skipEnd: item.skipEnd };
        if (item.offset !== 0) part.audioOffset = item.offset / 1000;
        if (!isFirst && item.type !== "cut") {
            part.transition = { type: item.type, seconds: Number(item.seconds) };
            if (colorWords(item.type) && item.color) part.transition.color = item.color;
        }
        return part;
    }

    /** The included clips in the format of the API. */
    get #asked() { return this.#used.map((item, index) => this.#part(item, index === 0)); }

    #ask(body) { return post(this.view.path("/stitch"), body); }

    async #make() {
        this.job = (await this.#ask({ clips: this.#asked })).id;
        this.#store();
        await this.view.refresh();
        return "The file is being made.";
    }

    async #cancel() {
        if (this.job) await remove(`v1/exports/${encodeURIComponent(this.job)}`);
        await this.view.refresh();
        return "It is cancelled; nothing is left of it.";
    }

    /** Makes a small file of the join in front of the selected clip, and plays it when it is ready. */
    async #playJoin() {
        const { channel } = this;
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
        if (channel !== this.channel) this.#dropJoin();
        await this.view.refresh();
    }

    #showJoin() {
        const { parts, join } = this;
        const job = this.jobs.get(join?.id);
        if (join && this.selected !== join.of) return this.#closeJoin();
        if (["failed", "cancelled"].includes(job?.state)) {
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

    #closeJoin() {
        if (!this.join) return;
        this.#dropJoin();
        this.#render();
    }

    /** Discards the join and its file. */
    #dropJoin() {
        const { join, parts } = this;
        if (!join) return;
        this.join = null;
        parts.video.removeAttribute("src");
        parts.video.load();
        setShown(parts.video, false);
        remove(`v1/exports/${encodeURIComponent(join.id)}`, { isKept: true }).catch(() => {});
    }
}

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
