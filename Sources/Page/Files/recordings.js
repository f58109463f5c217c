// SPDX-License-Identifier: Apache-2.0
// Recordings: the timeline with gaps and markers, clips and their jobs, and the list of files.

import { channelPath, get, post, put, remove, urlOf } from "./api.js";
import {
    byID, copy, enable, holdsFocus, KeyedList, onPress, partsOf, Question, setAttribute, setProperty, setShown, setText,
} from "./dom.js";
import { isRecording } from "./glance.js";
import { count, day, duration, hourAndMinute, sentence, shortClock, size, timeOfDay } from "./words.js";

/** The number of files that are shown before "Show all" is pressed. */
const shortList = 8;
/** Milliseconds between two requests of the catalogue if no event requires an earlier one. */
const readEach = 30000;
/** Milliseconds between two requests for the state of a running job. */
const lookEach = 500;

const path = (channel, id, rest = "") => channelPath(channel, `/recordings/${encodeURIComponent(id)}${rest}`);

export class Recordings {
    constructor(log) {
        this.log = log;
        this.parts = partsOf(byID("recordings"));
        this.files = new KeyedList(this.parts.files, () => new FileRow(this));
        this.list = [];
        this.gaps = [];
        this.isLong = false;
        this.readAt = -Infinity;
        this.timeline = new Timeline(this);
        this.jobs = new Jobs(this);
        this.player = new Player();
        this.#wire();
    }

    #wire() {
        const { parts } = this;
        parts.range.addEventListener("change", () => this.refresh());
        parts.more.addEventListener("click", () => {
            this.isLong = !this.isLong;
            this.render();
        });
        parts.clip.addEventListener("submit", (event) => event.preventDefault());
        onPress(parts.make, () => this.#makeClip(), parts.failed);
        parts["play-range"].addEventListener("click", () => this.#playRange());
    }

    /** The recordings that are protected from deletion, for the disk's card. */
    get held() { return this.list.filter((file) => file.isHeld && file.state !== "deleted"); }

    reset() {
        // The catalogue is read a little later, so that the video is loaded first.
        Object.assign(this, { list: [], gaps: [], isLong: false, readAt: performance.now() - readEach + 500,
            wasRead: false, finished: undefined });
        this.timeline.reset();
    }

    /** Once a second: the open file's duration is taken from the report; the catalogue is read again when a file was
     * finished. */
    update({ report, channel, isStale }) {
        Object.assign(this, { report, channel });
        const finished = `${report.recorder?.segmentsFinished}/${report.recorder?.fileName}/${report.recorder?.gapCount}`;
        const isDue = performance.now() - this.readAt > readEach
            || (this.finished !== undefined && finished !== this.finished);
        this.finished = finished;
        if (isDue && !isStale && !document.hidden) this.refresh();
        this.render();
    }

    /** Reads the catalogue. The answer to an earlier request is ignored. */
    async refresh() {
        const reading = this.reading = Symbol("reading");
        this.readAt = performance.now();
        const days = Number(this.parts.range.value);
        const from = days ? `?from=${encodeURIComponent(new Date(Date.now() - days * 864e5).toISOString())}` : "";
        try {
            const answer = await get(channelPath(this.channel, `/recordings${from}`));
            if (this.reading !== reading) return;
            this.list = (answer.recordings ?? []).filter((file) => file.state !== "deleted").sort((a,
                b) => Date.parse(b.start) - Date.parse(a.start));
            this.gaps = answer.gaps ?? [];
            this.events = answer.events ?? [];
            if (!this.wasRead) this.jobs.read();
            this.wasRead = true;
            this.render();
        } catch (problem) {
            if (!problem.words) throw problem;
        }
    }

    render() {
        const { parts, list } = this;
        this.now = Date.parse(this.report?.time ?? "") || Date.now();
        setShown(parts.none, this.wasRead === true && !list.length);
        setShown(parts.some, list.length > 0);
        setShown(parts.count, list.length > 0);
        setText(parts.count, count(list.length, "segment"));
        const missing = this.gaps.reduce((sum, gap) => sum + (gap.durationSeconds ?? 0), 0);
        setShown(parts.gaps, this.gaps.length > 0);
        const last = this.gaps.at(-1);
        if (last) setText(parts["gaps-text"],
            this.gaps.length === 1 ? `1 gap: ${duration(missing)} at ${hourAndMinute(last.start)}, ${causeOf(last)}`
            : `${this.gaps.length} gaps of ${duration(missing)}`);
        this.timeline.render();
        this.files.show(this.isLong ? list : list.slice(0, shortList), (file) => file.id);
        setShown(parts.more, list.length > shortList);
        setText(parts.more, this.isLong ? "Show the newest only" : `Show all ${list.length}`);
        this.jobs.render();
        enable(parts.make);
    }

    /** The current state of a file: the open file's duration is taken from the recorder's report. */
    live(file) {
        const recorder = this.report?.recorder;
        if (file.state !== "recording" || !isRecording(this.report)) return file;
        if (recorder.fileName !== file.name
            && this.list.filter((other) => other.state === "recording").length > 1) return file;
        const seconds = Math.max(file.durationSeconds, recorder.segmentSeconds);
        return { ...file, durationSeconds: seconds, bytes: Math.max(file.bytes, recorder.segmentBytes),
            end: new Date(Date.parse(file.start) + seconds * 1000).toISOString() };
    }

    /** Gaps that begin within a file. */
    gapsOf(file) {
        const [from, to] = [Date.parse(file.start), Date.parse(file.end ?? file.start)];
        return this.gaps.filter((gap) => Date.parse(gap.start) >= from - 500 && Date.parse(gap.start) <= to + 500);
    }

    /** Sets the range of a file as the range of the clip. */
    cut(file) {
        const { start, durationSeconds } = this.live(file);
        this.timeline.choose(Date.parse(start), Date.parse(start) + durationSeconds * 1000);
        this.parts.clip.scrollIntoView({ block: "nearest" });
        this.parts.from.focus({ preventScroll: true });
    }

    async #makeClip() {
        const { from, to } = this.timeline;
        const job = await post("v1/exports",
            { channel: this.channel, from: new Date(from).toISOString(), to: new Date(to).toISOString() });
        this.jobs.take(job);
        return "The clip is being made.";
    }

    #playRange() {
        const { from, to } = this.timeline;
        const file = this.list.find((other) => Date.parse(other.start) <= from
            && Date.parse(this.live(other).end) > from)
            ?? this.list.find((other) => Date.parse(other.start) < to && Date.parse(this.live(other).end) > from);
        if (!file) return;
        const begin = Math.max(0, (from - Date.parse(file.start)) / 1000);
        this.player.open(this.channel, this.live(file), begin,
            begin + (to - Math.max(from, Date.parse(file.start))) / 1000);
    }
}

const causeOf = (gap) => String(gap.cause ?? "").replaceAll("_", " ");

// ---- Files ----

class FileRow {
    constructor(panel) {
        this.panel = panel;
        this.root = copy("t-file");
        const parts = this.parts = partsOf(this.root);
        this.question = new Question(parts, { failed: parts.failed });
        parts.thumbnail.addEventListener("error", () => parts.thumbnail.classList.add("absent"));
        parts.thumbnail.addEventListener("load", () => parts.thumbnail.classList.remove("absent"));
        parts.play.addEventListener("click", () => panel.player.open(panel.channel, panel.live(this.file)));
        parts.cut.addEventListener("click", () => panel.cut(this.file));
        onPress(parts.hold, () => this.#hold(), parts.failed);
        onPress(parts.delete, () => this.#delete(), parts.failed);
    }

    update(file) {
        const { parts, panel } = this;
        this.file = file;
        const live = panel.live(file);
        const isOpen = file.state === "recording";
        const begin = hourAndMinute(file.start);
        const isToday = day(file.start) === day(panel.now);
        const title = `${isToday ? "" : `${day(file.start)}, `}${begin} – ${isOpen ? "now" : hourAndMinute(file.end)}`;
        setText(parts.title, title);
        setAttribute(parts.title, "title", file.name);
        setShown(parts.writing, isOpen);
        setShown(parts.held, file.isHeld === true);
        setShown(parts.damaged, file.state === "damaged");
        const missing = panel.gapsOf(live).reduce((sum, gap) => sum + (gap.durationSeconds ?? 0), 0);
        setShown(parts.gap, missing > 0);
        setText(parts["gap-text"], `${missing < 1 ? `${Math.round(missing * 1000)} ms` : duration(missing)} missing`);
        setText(parts.about, this.#about(live, isOpen));
        this.#thumbnail(live, isOpen);
        this.#names(title);
    }

    #about(file, isOpen) {
        const uploads = { waiting: "waits for upload", done: "uploaded" };
        const words = [isOpen ? shortClock(file.durationSeconds) : duration(file.durationSeconds), size(file.bytes)];
        if (isOpen) words.push("playable while it is written");
        if (uploads[file.upload]) words.push(`${uploads[file.upload]}${file.upload === "done" && file.sha256 ? ", checked" : ""}`);
        return words.join(" · ");
    }

    #thumbnail(file, isOpen) {
        const at = isOpen ? Math.floor(Math.max(0, file.durationSeconds - 1) / 30) * 30
            : Math.min(10, file.durationSeconds / 2);
        const source = urlOf(path(this.panel.channel, file.id, `/thumbnail.jpg?at=${at.toFixed(1)}&width=192`));
        if (this.parts.thumbnail.src !== source
            && (!isOpen || file.durationSeconds > 1)) this.parts.thumbnail.src = source;
    }

    #names(title) {
        const { parts, panel, file } = this;
        setAttribute(parts.play, "aria-label", `Play ${title}`);
        setAttribute(parts.cut, "aria-label", `Clip from ${title}`);
        setAttribute(parts.cut, "title", "Clip");
        setAttribute(parts.hold, "aria-label", `Hold ${title}: never delete`);
        parts.hold.dataset.title = file.isHeld ? "Release" : "Hold: never delete";
        setAttribute(parts.hold, "aria-pressed", String(file.isHeld === true));
        setAttribute(parts.download, "aria-label", `Download ${title}`);
        setAttribute(parts.download, "title", "Download");
        setAttribute(parts.download, "href", urlOf(path(panel.channel, file.id, "?download=1")));
        setAttribute(parts.download, "download", file.name.split("/").at(-1));
        setAttribute(parts.delete, "aria-label", `Delete ${title}`);
        parts.delete.dataset.title = "Delete…";
        enable(parts.hold);
        enable(parts.delete, file.state !== "recording" && !file.isHeld,
            file.isHeld ? "It is held: release it first" : "It is being written");
        enable(parts.sure);
    }

    async #hold() {
        const { file, panel } = this;
        const where = path(panel.channel, file.id, "/hold");
        await (file.isHeld ? remove(where) : put(where));
        file.isHeld = !file.isHeld;
        panel.render();
        panel.refresh();
        return file.isHeld ? "Held: it is never deleted." : "Released.";
    }

    /** Deletes in two steps: shows what would be deleted, then asks the operator. */
    async #delete() {
        const { file, panel } = this;
        const where = path(panel.channel, file.id);
        const answer = await remove(where);
        const bytes = (answer.deletes ?? []).reduce((sum, item) => sum + item.bytes, 0);
        this.question.open(this.parts.delete, `Delete ${file.name}, ${size(bytes || file.bytes)}? It is gone for good.`,
            async () => {
            const done = await remove(`${where}?token=${encodeURIComponent(answer.token)}`);
            const had = holdsFocus(this.root);
            panel.list = panel.list.filter((other) => other.id !== file.id);
            panel.render();
            if (had) byID("recordings-title").focus({ preventScroll: true });
            panel.refresh();
            return `Deleted. ${size(done.freedBytes ?? file.bytes)} are free again.`;
        });
    }
}

/** Plays a recording in a dialog, directly from its file. */
class Player {
    constructor() {
        this.root = byID("player");
        this.video = byID("player-video");
        byID("player-close").addEventListener("click", () => this.root.close());
        this.root.addEventListener("close", () => this.#end());
        this.video.addEventListener("error", () => {
            if (!this.video.getAttribute("src")) return;
            setText(byID("player-failed"), "This browser cannot play this file. It may play where it is downloaded to.");
            setShown(byID("player-failed"), true);
        });
    }

    open(channel, file, from, to) {
        setShown(byID("player-failed"), false);
        setText(byID("player-title"), file.name);
        const part = from === undefined ? "" : `#t=${from.toFixed(2)}${to === undefined ? "" : `,${to.toFixed(2)}`}`;
        this.video.src = urlOf(path(channel, file.id)) + part;
        this.root.showModal();
        this.video.play().catch(() => {});
    }

    #end() {
        this.video.pause();
        this.video.removeAttribute("src");
        this.video.load();
    }
}

// ---- The timeline ----

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

class Timeline {
    constructor(panel) {
        this.panel = panel;
        this.parts = panel.parts;
        this.segments = new KeyedList(this.parts.segments, () => new Mark("button", this));
        this.marks = new KeyedList(this.parts.marks, () => new Mark("span", this));
        this.ticks = new KeyedList(this.parts.ticks, () => new Mark("span", this));
        this.reset();
        for (const side of ["from", "to"]) {
            this.#handle(side);
            this.parts[side].addEventListener("change", () => this.#typed(side));
        }
    }

    reset() { Object.assign(this, { from: 0, to: 0, isChosen: false }); }

    /** The bounds of the timeline, in milliseconds since 1970. */
    #bounds() {
        const files = this.panel.list.map((file) => this.panel.live(file));
        const begin = Math.min(...files.map((file) => Date.parse(file.start)));
        const end = Math.max(...files.map((file) => Date.parse(file.end ?? file.start)), begin + 1000);
        const room = (end - begin) * 0.02 + 500;
        Object.assign(this, { first: begin, last: end, begin: begin - room, end: end + room });
    }

    at(time) { return (time - this.begin) / (this.end - this.begin); }

    render() {
        const { panel } = this;
        if (!panel.list.length) return;
        this.#bounds();
        if (!this.isChosen) Object.assign(this, { from: Math.max(this.first, this.last - 60000), to: this.last });
        this.#ticks();
        this.segments.show([...panel.list].reverse().map((file, index) => this.#segment(panel.live(file), index + 1)),
            (item) => item.key);
        this.marks.show([...this.#gaps(), ...this.#markers()], (item) => item.key);
        this.#selection();
    }

    #ticks() {
        const seconds = (this.end - this.begin) / 1000;
        const room = this.parts.day.clientWidth < 500 ? 5 : 8;
        const step = (steps.find((value) => seconds / value <= room) ?? 86400) * 1000;
        const zone = new Date(this.begin).getTimezoneOffset() * 60000;
        const items = [];
        for (let time = Math.ceil((this.begin - zone) / step) * step + zone; time < this.end; time += step) {
            const text = step >= 864e5 ? day(time) : step >= 60000 ? hourAndMinute(time) : timeOfDay(time);
            if (this.at(time) > 0.02 && this.at(time) < 0.98) items.push({ key: String(time), kind: "tick", from: time,
                text });
        }
        this.ticks.show(items, (item) => item.key);
    }

    #segment(file, number) {
        const isOpen = file.state === "recording";
        const end = isOpen ? this.last : Date.parse(file.end);
        return {
            key: file.id, from: Date.parse(file.start), to: end, file,
            kind: `recorded-segment${isOpen ? " open" : ""}${file.state === "damaged" ? " damaged" : ""}`,
            label: `Segment ${number}, ${timeOfDay(file.start)} to ${isOpen ? "now" : timeOfDay(file.end)}`,
        };
    }

    #gaps() {
        return this.panel.gaps.map((gap) => {
            const from = Date.parse(gap.start);
            const seconds = gap.durationSeconds ?? 0;
            return { key: `gap/${gap.start}`, kind: "gap", from, to: from + seconds * 1000,
                label: `${duration(seconds)} missing, ${causeOf(gap)}` };
        });
    }

    #markers() {
        const told = (this.panel.events ?? []).filter((event) => event.kind === "marker");
        const logged = this.panel.log.markersOf(this.panel.channel);
        return (told.length ? told : logged).map((event) => ({ key: `mark/${event.time}/${event.text}`, kind: "mark",
            from: Date.parse(event.time), label: sentence(event.text) }))
            .filter((mark) => mark.from >= this.begin && mark.from <= this.end);
    }

    #selection() {
        const { parts } = this;
        setProperty(parts.selection, "--x", this.at(this.from).toFixed(5));
        setProperty(parts.selection, "--w", (this.at(this.to) - this.at(this.from)).toFixed(5));
        for (const side of ["from", "to"]) {
            const handle = parts[`${side}-handle`];
            setProperty(handle, "--x", this.at(this[side]).toFixed(5));
            setAttribute(handle, "aria-valuemin", Math.floor(this.first / 1000));
            setAttribute(handle, "aria-valuemax", Math.ceil(this.last / 1000));
            setAttribute(handle, "aria-valuenow", Math.round(this[side] / 1000));
            setAttribute(handle, "aria-valuetext", timeOfDay(this[side]));
            if (document.activeElement !== parts[side]) parts[side].value = timeOfDay(this[side]);
        }
        setText(parts.length, duration((this.to - this.from) / 1000));
    }

    /** Selects a range; the two ends stay at least half a second apart. */
    choose(from, to) {
        this.isChosen = true;
        this.from = Math.max(this.first, Math.min(from, this.last - 500));
        this.to = Math.min(this.last, Math.max(to, this.from + 500));
        this.#selection();
    }

    #move(side, time) {
        if (side === "from") this.choose(Math.min(time, this.to - 500), this.to);
        else this.choose(this.from, Math.max(time, this.from + 500));
    }

    #handle(side) {
        const handle = this.parts[`${side}-handle`];
        handle.addEventListener("pointerdown", (event) => handle.setPointerCapture(event.pointerId));
        handle.addEventListener("pointermove", (event) => {
            if (!handle.hasPointerCapture(event.pointerId)) return;
            const place = this.parts.day.getBoundingClientRect();
            this.#move(side, this.begin + ((event.clientX - place.left) / place.width) * (this.end - this.begin));
        });
        handle.addEventListener("keydown", (event) => {
            const seconds = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -60,
                PageUp: 60 }[event.key];
            const edge = { Home: this.first, End: this.last }[event.key];
            if (seconds === undefined && edge === undefined) return;
            event.preventDefault();
            this.#move(side, edge ?? this[side] + seconds * 1000);
        });
    }

    /** A time of day that the user types means the recorded day on which it is nearest to the present selection. */
    #typed(side) {
        const field = this.parts[side];
        const [, hours, minutes, seconds = "0"] = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/.exec(field.value.trim()) ?? [];
        setAttribute(field, "aria-invalid",
            hours === undefined || hours > 23 || minutes > 59 || seconds > 59 ? "true" : null);
        if (field.getAttribute("aria-invalid")) return;
        const date = new Date(this[side]);
        date.setHours(Number(hours), Number(minutes), Number(seconds), 0);
        const days = [-864e5, 0, 864e5].map((shift) => date.getTime() + shift)
            .filter((time) => time >= this.first - 1000 && time <= this.last + 1000);
        const time = days.sort((a, b) => Math.abs(a - this[side]) - Math.abs(b - this[side]))[0] ?? date.getTime();
        // If "from" is set to a later time than "to", "to" is moved as well, and vice versa.
        if (side === "from" && time >= this.to) this.choose(time, time + 60000);
        else if (side === "to" && time <= this.from) this.choose(time - 60000, time);
        else this.#move(side, time);
        field.value = timeOfDay(this[side]);
    }
}

/** A node on the timeline: a segment, a gap, a marker or a tick. */
class Mark {
    constructor(element, timeline) {
        this.timeline = timeline;
        this.root = document.createElement(element);
        if (element !== "button") return;
        this.root.type = "button";
        this.root.tabIndex = -1;
        this.root.addEventListener("click", () => timeline.panel.cut(this.item.file));
    }

    update(item) {
        this.item = item;
        setAttribute(this.root, "class", item.kind);
        // The open file may extend beyond the time that is shown.
        const at = (time) => Math.min(1, Math.max(0, this.timeline.at(time)));
        setProperty(this.root, "--x", at(item.from).toFixed(5));
        if (item.to !== undefined) setProperty(this.root, "--w", (at(item.to) - at(item.from)).toFixed(5));
        if (item.text !== undefined) setText(this.root, item.text);
        setAttribute(this.root, "title", item.label ?? null);
        if (this.root.type === "button") setAttribute(this.root, "aria-label", item.label);
        else if (item.label) {
            setAttribute(this.root, "role", "img");
            setAttribute(this.root, "aria-label", item.label);
        }
    }
}

// ---- Jobs ----

class Jobs {
    constructor(panel) {
        this.panel = panel;
        this.all = new Map();
        this.list = new KeyedList(panel.parts.jobs, () => new JobRow(this));
    }

    /** Reads the list of jobs: at the start, and after a restart of relay. */
    async read() {
        this.all.clear();
        try {
            for (const job of (await get("v1/exports")).exports ?? []) this.take(job);
        } catch (problem) {
            if (!problem.words) throw problem;
        }
    }

    take(job) {
        if (!job?.id) return;
        this.all.set(job.id, job);
        this.render();
        if (["queued", "running"].includes(job.state)) this.#watch(job.id);
    }

    async #watch(id) {
        await new Promise((resolve) => setTimeout(resolve, lookEach));
        if (!this.all.has(id)) return;
        try {
            this.take(await get(`v1/exports/${encodeURIComponent(id)}`));
        } catch (problem) {
            if (!problem.words) throw problem;
            if (problem.status === 404) this.drop(id);
            else this.#watch(id);
        }
    }

    drop(id) {
        this.all.delete(id);
        this.render();
    }

    render() {
        const jobs = [...this.all.values()].filter((job) => job.channel === this.panel.channel).reverse();
        this.list.show(jobs, (job) => job.id);
    }
}

class JobRow {
    constructor(jobs) {
        this.root = copy("t-job");
        this.parts = partsOf(this.root);
        onPress(this.parts.cancel, async () => {
            const { id, state } = this.job;
            const had = holdsFocus(this.root);
            await remove(`v1/exports/${encodeURIComponent(id)}`);
            jobs.drop(id);
            if (had) byID("recordings-title").focus({ preventScroll: true });
            return ["queued", "running"].includes(state) ? "Clip cancelled. Nothing was left behind." : "Clip removed.";
        }, jobs.panel.parts.failed);
    }

    update(job) {
        const { parts } = this;
        this.job = job;
        const isUnderWay = ["queued", "running"].includes(job.state);
        const range = `${timeOfDay(job.from)} – ${timeOfDay(job.to)}`;
        setText(parts.title, `Clip ${range}`);
        const words = {
            queued: "waits its turn", running: job.secondsLeft === undefined
                ? `${Math.round((job.progress ?? 0) * 100)} %` : `${duration(Math.ceil(job.secondsLeft))} left`,
            done: `done${job.bytes === undefined ? "" : ` · ${size(job.bytes)}`}`, cancelled: "cancelled",
                failed: job.detail ? sentence(job.detail) : "It failed.",
        };
        setText(parts.words, words[job.state] ?? job.state);
        const done = job.state === "done" ? 1 : job.progress ?? 0;
        setProperty(parts.bar, "--done", done.toFixed(3));
        setAttribute(parts.progress, "aria-valuenow", Math.round(done * 100));
        setAttribute(parts.progress, "aria-label", `Clip ${range}`);
        setShown(parts.download, job.state === "done");
        setAttribute(parts.download, "href", urlOf(`v1/exports/${encodeURIComponent(job.id)}/file`));
        setAttribute(parts.download, "aria-label", `Download clip ${range}`);
        if (parts.cancel.getAttribute("aria-busy") !== "true") setText(parts.cancel.querySelector("[data-label]"),
            isUnderWay ? "Cancel" : "Remove");
        enable(parts.cancel);
    }
}
