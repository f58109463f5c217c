// SPDX-License-Identifier: Apache-2.0
// The cards of the recorder and of the disk.

import { channelPath, post, remove } from "./api.js";
import {
    announce, byID, enable, onPress, partsOf, Popover, press, Question, setAttribute, setIcon, setProperty, setShown,
    setText,
} from "./dom.js";
import { gapSeconds, isRecording, secondTrouble, segmentNumber } from "./glance.js";
import { count, day, duration, hourAndMinute, megabits, milliseconds, sentence, shortClock, size } from "./words.js";

export class Recorder {
    constructor() {
        this.parts = partsOf(byID("recorder"));
        this.markers = 0;
        const { parts } = this;
        const path = (rest) => channelPath(this.channel, rest);
        const { failed } = parts;
        this.question = new Question(parts, { hidden: parts.buttons, failed });
        onPress(parts.stop, async () => this.question.open(parts.stop, "Stop recording? The stream goes on.",
            async () => {
            await post(path("/recording/stop"));
            return "Recording stops. The stream goes on.";
        }));
        onPress(parts.start, () => this.#start(), failed);
        onPress(parts.split, async () => {
            await post(path("/recording/split"));
            return "A new segment begins at the next keyframe.";
        }, failed);
        onPress(parts.marker, async () => this.#openMarker(), failed);
        onPress(parts["marker-set"], () => this.#setMarker(parts["marker-text"].value.trim()), failed);
        parts["marker-form"].addEventListener("submit", (event) => event.preventDefault());
        parts["marker-form"].addEventListener("keydown",
            (event) => { if (event.key === "Escape") this.#closeMarker(); });
        parts["marker-cancel"].addEventListener("click", () => this.#closeMarker());
    }

    #openMarker() {
        const { parts } = this;
        setShown(parts.buttons, false);
        setShown(parts["marker-form"], true);
        parts["marker-text"].focus();
    }

    #closeMarker() {
        const { parts } = this;
        parts["marker-form"].reset();
        setShown(parts["marker-form"], false);
        setShown(parts.buttons, true);
        parts.marker.focus({ preventScroll: true });
    }

    async #setMarker(text) {
        this.markers += 1;
        const marker = await post(channelPath(this.channel, "/markers"), { text: text || `Marker ${this.markers}` });
        if (!this.parts["marker-form"].hidden) this.#closeMarker();
        return `Marker “${marker.text}” is set.`;
    }

    /** The key M: sets a marker at once, without text. */
    quickMarker() {
        if (this.parts.marker.getAttribute("aria-disabled") === "true") return announce("No marker can be set now.");
        press(this.parts.marker, () => this.#setMarker(""), this.parts.failed);
    }

    /** Starts recording, for the glance bar's button. */
    start() { return press(this.parts.start, () => this.#start(), this.parts.failed); }

    async #start() {
        await post(channelPath(this.channel, "/recording/start"));
        return "Recording starts at the next keyframe.";
    }

    reset() { this.markers = 0; }

    update({ report, channel }) {
        this.channel = channel;
        const { recorder } = report;
        const isOn = isRecording(report);
        this.#words(report, isOn);
        this.#segment(report, isOn);
        const { parts } = this;
        setText(parts.size, isOn ? size(recorder.segmentBytes) : "–");
        setText(parts.gaps, recorder ? recorder.gapCount ? `${recorder.gapCount} · ${duration(gapSeconds(report))}`
            : "0" : "–");
        parts.gaps.className = recorder?.gapCount ? "w" : "";
        setText(parts.write, recorder?.writeLatency?.count ? milliseconds(recorder.writeLatency.maximumMilliseconds)
            : "–");
        setText(parts.total, recorder ? size(recorder.totalBytes) : "–");
        this.#buttons(report);
    }

    #words(report, isOn) {
        const { parts } = this;
        const { recorder, storage } = report;
        const stopped = {
            stopped: storage?.freeBytes <= storage?.reserveBytes ? "Stopped: the disk is full"
                : "Stopped: the disk cannot be used",
            refused: "Did not start: too little room",
        }[storage?.state];
        const words = {
            recording: `Recording segment ${recorder ? segmentNumber(report) : ""}`, waiting: "Waits for a keyframe",
            suspended: "Suspended", failed: "Writing fails", stopped: "Not recording",
        }[recorder?.state] ?? "Not recording";
        setText(parts.lead, isOn ? words : (recorder?.state !== "recording" && stopped) || words);
        setText(parts.file, recorder?.fileName ?? (isOn ? "" : "The stream is not affected."));
        setAttribute(parts.file, "title", recorder?.fileName ?? null);
        setText(parts.why, this.#reason(report));
        setShown(parts.chip, Boolean(recorder?.queueMilliseconds > 1000));
        setText(parts.chip, `${milliseconds(recorder?.queueMilliseconds ?? 0)} wait to be written`);
        parts.chip.classList.toggle("warn", recorder?.queueMilliseconds > 1000);
    }

    #reason(report) {
        const { recorder, storage } = report;
        if (recorder?.state === "failed" && recorder.lastError) return sentence(recorder.lastError);
        if (recorder?.suspension) return sentence(recorder.suspension);
        const gap = recorder?.gaps?.at(-1);
        if (gap) {
            const at = Date.parse(report.time) - (report.programSeconds - gap.from / 1e9) * 1000;
            const missing = `${count(gap.frames, "frame")} ${gap.frames === 1 ? "is" : "are"} missing`;
            return `${hourAndMinute(at)} ${sentence(gap.reason).replace(/\.$/, "")}${gap.frames ? `: ${missing}` : ""}.`;
        }
        if (isRecording(report)) return "No frame is missing.";
        if (report.canRecord === false) return "relay was started without a directory to record to.";
        if (storage) return `A start needs ${size(storage.requiredBytes)}; ${size(storage.freeBytes)} are free.`;
        return report.isRecordingWanted === false ? "You stopped it." : "";
    }

    #segment(report, isOn) {
        const { parts } = this;
        const { recorder } = report;
        const left = isOn && recorder.nextCut !== undefined ? recorder.nextCut / 1e9 - report.programSeconds : null;
        const done = left === null ? (isOn ? 1 : 0)
            : recorder.segmentSeconds / Math.max(0.001, recorder.segmentSeconds + Math.max(0, left));
        setProperty(parts.bar, "--done", done.toFixed(4));
        setAttribute(parts.progress, "aria-valuenow", Math.round(done * 100));
        setText(parts.passed, isOn ? `${shortClock(recorder.segmentSeconds)} in this segment` : "–");
        setText(parts.left, left !== null && left > 0 ? `next cut in ${duration(left)}` : "");
    }

    #buttons(report) {
        const { parts } = this;
        const isWanted = report.isRecordingWanted !== false && report.recorder !== undefined;
        const isOn = isRecording(report);
        const refused = report.storage?.state === "refused";
        for (const name of ["stop", "split"]) setShown(parts[name], isWanted && !refused);
        setShown(parts.start, !isWanted || refused);
        enable(parts.stop, isWanted, "Nothing is recorded");
        enable(parts.split, isOn, "Nothing is being written");
        enable(parts.marker, report.state === "on_air", "The program is not on air");
        enable(parts["marker-set"], report.state === "on_air", "The program is not on air");
        enable(parts.start, report.canRecord !== false, "relay was started without a directory to record to");
        enable(parts.sure);
    }
}

export class Storage {
    /** `held()` returns the recordings that are protected from deletion; `refresh()` reads the catalogue again. */
    constructor({ held, refresh }) {
        this.parts = partsOf(byID("storage"));
        this.held = held;
        const { parts } = this;
        this.question = new Question(parts, { hidden: parts.buttons, failed: parts.failed });
        onPress(parts.release, async () => this.#askRelease(refresh), parts.failed);
        onPress(parts.room, async () => this.#askRoom(refresh), parts.failed);
        this.kept = new Popover(parts.kept, byID("retention"), () => this.#keptWords());
        this.keptParts = partsOf(byID("retention"));
    }

    #list(items) {
        this.parts["ask-list"].replaceChildren(...items.map((item) => Object.assign(document.createElement("li"),
            { textContent: `${item.name} · ${size(item.bytes)}` })));
    }

    #askRelease(refresh) {
        const held = this.held();
        this.#list(held);
        setText(this.parts.sure, "Release");
        this.question.open(this.parts.release,
            `Release ${count(held.length, "held recording")}? What is kept by rule may then delete them.`, async () => {
            for (const item of held) await remove(channelPath(this.channel,
                `/recordings/${encodeURIComponent(item.id)}/hold`));
            refresh();
            return `${count(held.length, "recording")} released.`;
        });
    }

    /** Asks relay what would be deleted to make room, then asks the operator. */
    async #askRoom(refresh) {
        const { storage } = this.report;
        const path = channelPath(this.channel, "/recordings/make-room");
        const bytes = Math.ceil(Math.max(storage.requiredBytes,
            storage.freeBytes + 3600 * this.#rate(this.report) / 8));
        const answer = await post(path, { bytes });
        const deletes = answer.deletes ?? [];
        this.#list(deletes);
        if (!deletes.length) return "There is nothing that may be deleted.";
        setText(this.parts.sure, "Delete them");
        const freed = deletes.reduce((sum, item) => sum + item.bytes, 0);
        this.question.open(this.parts.room,
            `Delete ${count(deletes.length, "recording")}, ${size(freed)}? They are gone for good.`, async () => {
            const done = await post(path, { bytes, token: answer.token });
            refresh();
            return `${size(done.freedBytes ?? freed)} are free again.`;
        });
        return undefined;
    }

    /** The action of "Make room" in the glance bar: shows this card, with focus on the button that helps. */
    point() {
        const { parts } = this;
        byID("storage").scrollIntoView({ block: "center" });
        (parts.release.hidden ? parts.room : parts.release).focus({ preventScroll: true });
    }

    update({ report, channel }) {
        Object.assign(this, { report, channel });
        const { parts } = this;
        const { storage } = report;
        const root = byID("storage");
        for (const name of ["warning", "critical", "stopped", "refused"]) root.classList.toggle(name,
            storage?.state === name);
        setShown(parts.chip, storage !== undefined);
        if (storage) this.#known(report, storage);
        else this.#unknown(report);
        setShown(parts.disk, storage !== undefined);
        setShown(parts.second, report.secondRecording !== undefined);
        if (report.secondRecording) setText(parts.second, secondWords(report));
        const isTight = storage !== undefined && storage.state !== "ok";
        const held = this.held();
        setShown(parts.release, isTight && held.length > 0);
        setText(parts.release.querySelector("[data-label]"),
            `Release ${size(held.reduce((sum, item) => sum + item.bytes, 0))}`);
        setShown(parts.room, isTight);
        setShown(parts.recordings, !isTight);
        setShown(parts.kept, !isTight || !held.length);
        for (const button of [parts.release, parts.room, parts.sure]) enable(button);
    }

    #unknown(report) {
        const { parts } = this;
        setText(parts.lead, "No disk is watched");
        setText(parts.forecast, report.canRecord === false ? "relay was started without a directory to record to."
            : "It is watched while relay records.");
        setText(parts.why, "");
        for (const name of ["recordings", "held", "reserve", "free"]) setShown(parts[`l-${name}`], false);
    }

    #known(report, storage) {
        const { parts } = this;
        const isOld = storage.ageSeconds > 10;
        parts.chip.className = `chip ${storage.state === "ok" ? "ok" : storage.state === "warning" ? "warn" : "crit"}`;
        setIcon(parts.chip.querySelector("use"), storage.state === "ok" ? "check" : "triangle");
        setText(parts.state, isOld ? `measured ${duration(storage.ageSeconds)} ago` : storage.state);
        const [lead, forecast] = forecastWords(report, storage, this.#rate(report));
        setText(parts.lead, lead);
        setText(parts.forecast, forecast);
        setText(parts.why, this.#why(report, storage));
        this.#bar(report, storage);
    }

    /** Bits a second that are written to the disk: according to the storage guard's forecast, or else the recorder. */
    #rate(report) {
        const { storage } = report;
        const room = storage.freeBytes + storage.reclaimableBytes - storage.reserveBytes;
        if (storage.secondsUntilFull > 0 && room > 0) return (room * 8) / storage.secondsUntilFull;
        const { recorder } = report;
        return recorder?.segmentSeconds > 1 ? (recorder.segmentBytes * 8) / recorder.segmentSeconds : 6e6;
    }

    #why(report, storage) {
        if (storage.state === "ok") {
            if (report.retention?.problem) return sentence(report.retention.problem);
            return storage.reclaimableBytes > 0 ? `The oldest go by themselves: ${size(storage.reclaimableBytes)} can.`
                : "Nothing is deleted by itself.";
        }
        if (storage.reason) return sentence(storage.reason);
        return this.held().length ? "Release what is held, or let the oldest go."
            : "Let the oldest go, or move files away.";
    }

    #bar(report, storage) {
        const held = this.held().reduce((sum, item) => sum + item.bytes, 0);
        const parts = {
            recordings: Math.max(0, (report.retention?.bytes ?? 0) - held), held,
            reserve: Math.min(storage.reserveBytes, storage.freeBytes),
                free: Math.max(0, storage.freeBytes - storage.reserveBytes),
        };
        const all = Object.values(parts).reduce((sum, bytes) => sum + bytes, 0) || 1;
        const words = [];
        for (const [name, bytes] of Object.entries(parts)) {
            setProperty(this.parts[`d-${name}`], "--share", (bytes / all).toFixed(4));
            setShown(this.parts[`d-${name}`], bytes > 0);
            setShown(this.parts[`l-${name}`], bytes > 0 || name === "free");
            setText(this.parts[`l-${name}`].lastElementChild, `${name} ${size(bytes)}`);
            if (bytes > 0 || name === "free") words.push(`${name} ${size(bytes)}`);
        }
        setAttribute(this.parts.disk, "aria-label", words.join(", "));
    }

    #keptWords() {
        const { retention, storage, upload } = this.report;
        const rows = [
            ["Files", retention && `${retention.files}, ${size(retention.bytes)}`],
            ["Oldest", retention?.oldest && `${day(retention.oldest)}, ${hourAndMinute(retention.oldest)}`],
            ["Still needed", retention && count(retention.heldFiles, "file")],
            ["Deleted", retention && `${count(retention.deletedFiles, "file")}, ${size(retention.deletedBytes)}`],
            ["To upload", upload && count(upload.waitingFiles, "file")],
            ["Directory", storage?.directory],
        ].filter(([, value]) => value);
        this.keptParts.facts.replaceChildren(...rows.map(([name, value]) => {
            const row = document.createElement("div");
            row.append(Object.assign(document.createElement("dt"), { textContent: name }),
                Object.assign(document.createElement("dd"), { textContent: value, className: "cut-anywhere" }));
            return row;
        }));
        setText(this.keptParts.words, retention?.problem ? sentence(retention.problem) : retention
            ? "What is held is never deleted." : "No rule deletes recordings.");
    }
}

/** The line of the second directory. */
function secondWords(report) {
    const { directory, recorder, storage } = report.secondRecording;
    const trouble = secondTrouble(report);
    if (trouble) return `Not recorded in ${directory}: ${trouble}`;
    const left = storage?.secondsUntilFull;
    return [`Also in ${directory}: ${recorder?.state ?? "not recording"}`,
        storage && `${size(storage.freeBytes)} free`, left !== undefined && `full in ${duration(left)}`,
    ].filter(Boolean).join(", ");
}

/** The forecast as two lines: a headline and an explanation. */
function forecastWords(report, storage, rate) {
    const left = storage.secondsUntilFull;
    const at = left === undefined ? "" : hourAndMinute(Date.parse(report.time) + left * 1000);
    const pace = `at ${megabits(rate)} Mbit/s`;
    if (storage.state === "stopped") {
        const isFull = storage.freeBytes <= storage.reserveBytes;
        return [isFull ? "Full: nothing is recorded" : "Nothing is recorded",
            "Recording resumes by itself when there is room."];
    }
    if (storage.state === "refused") return ["Too little room to begin",
        `${size(storage.freeBytes)} are free, ${size(storage.requiredBytes)} are needed.`];
    if (left === undefined) return [`${size(storage.freeBytes)} free`,
        isRecording(report) ? "It is not getting less." : "Nothing is recorded now."];
    if (!isRecording(report)) return [`Room for ${duration(left)}`, `${pace}, once it records`];
    return [`${storage.state === "critical" ? "Recording stops" : "Full"} in ${duration(left)}`,
        `${pace}, about ${at}`];
}
