// SPDX-License-Identifier: Apache-2.0
// The glance bar: whether the channel is on air and recorded, what is wrong, what will go wrong next, and the buttons
// that help.

import {
    announce, byID, copy, enable, KeyedList, onPress, partsOf, setAttribute, setIcon, setShown, setText,
} from "./dom.js";
import { audioInputOf, troublesOffAir, troublesOnAir, waitingWords } from "./inputs.js";
import { clock, count, duration, hourAndMinute, isOffAir, needsOperator } from "./words.js";

export const fps = (report) => (report.frameRate ? report.frameRate.numerator / report.frameRate.denominator : 0);

/** Whether at least one receiver gets the program. */
export const isOnAir = (report) => report?.state === "on_air"
    && (report.outputs ?? []).some((output) => output.state === "live");
/** Whether frames are written to a file. */
export const isRecording = (report) => report?.state === "on_air" && report.recorder?.state === "recording";
/** Seconds recorded since the start, in all files. */
export const recordedSeconds = (report) => {
    const rate = report.video ? fps(report) : 0;
    return rate ? report.recorder.framesWritten / rate : report.recorder.segmentSeconds;
};
/** Seconds missing in all gaps. */
export function gapSeconds(report) {
    const { recorder } = report;
    if (fps(report) && recorder.gapFrames) return recorder.gapFrames / fps(report);
    return (recorder.gaps ?? []).reduce((sum, gap) => sum + ((gap.to ?? gap.from) - gap.from) / 1e9, 0);
}
/** The number of the segment being written. */
export const segmentNumber = (report) => report.recorder.segmentsFinished + 1;
/** Whether frames are written to a file in the second directory. */
const isRecordingAlso = (report) => report.secondRecording?.recorder?.state === "recording";
/** Why nothing is recorded in the second directory; empty if it is, or is not to be. */
export function secondTrouble(report) {
    const { recorder, storage } = report.secondRecording ?? {};
    if (report.isRecordingWanted === false) return "";
    if (["stopped", "refused"].includes(storage?.state)) return storage.reason ?? "there is too little room";
    if (recorder?.state === "failed") return recorder.lastError ?? "writing fails";
    if (recorder?.state === "suspended") return recorder.suspension ?? "it goes on by itself";
    return "";
}
/** Whether the disk's state is one of `states`. */
const diskIs = (report, ...states) => states.includes(report.storage?.state);

/** The problems that exist now and those that are expected next: `{now, next}`, each a list of `{key, text…,
 * button}`, worst first.
 *
 * `since(name)` returns for how many seconds an output has been off air, or null if that is unknown. */
export function outlook(report, since = () => null, encoderLoad = 0) {
    return report.state === undefined ? { now: [], next: [] }
        : { now: problemsOf(report, since), next: forecastOf(report, encoderLoad) };
}

function problemsOf(report, since) {
    return [...channelProblems(report), ...recordingProblems(report), ...secondProblems(report),
        ...outputProblems(report, since), ...monitorProblems(report)]
        .sort((a, b) => Number(b.isCritical ?? false) - Number(a.isCritical ?? false));
}

function channelProblems(report) {
    if (report.state === "waiting") return [{ key: "source", isCritical: true, strong: "No source delivers",
        aside: "nothing is on air" }];
    if (report.state === "over") return [{ key: "over", strong: "The program is over" }];
    if (report.state !== "on_air") return [];
    const audio = audioInputOf(report);
    const missing = audio ? waitingWords(audio, "audio") : "";
    return [
        ...troublesOnAir(report).map(({ name, glance, aside }) => ({ key: `source:${name}`, isCritical: true,
            strong: glance, aside })),
        ...troublesOffAir(report).map(({ name, words }) => ({ key: `standby:${name}`, strong: words,
            aside: "not on air" })),
        ...(missing ? [{ key: "audio-input", strong: "The audio input", after: ` ${missing}` }] : []),
    ];
}

function recordingProblems(report) {
    const { recorder, storage } = report;
    const room = { action: "room", label: "Make room" };
    const nothing = isRecordingAlso(report) ? "Not recorded in the first directory" : "Nothing is being recorded";
    if (diskIs(report, "stopped")) return [{ key: "recording", isCritical: true, strong: `${nothing}:`,
        after: storage.freeBytes <= storage.reserveBytes ? " the disk is full"
        : ` ${storage.reason ?? "the disk cannot be used"}`, aside: "goes on by itself when that changes",
        button: room }];
    if (diskIs(report, "refused")) return [{ key: "recording", isCritical: true, strong: "Recording did not start",
        aside: "too little room", button: room }];
    if (recorder?.state === "failed") return [{ key: "recording", isCritical: true, strong: "Writing fails",
        aside: recorder.lastError ?? "tried again each second" }];
    if (recorder?.state === "suspended") return [{ key: "recording", isCritical: true,
        strong: nothing, aside: recorder.suspension ?? "goes on by itself" }];
    const clips = report.clipsRecorder;
    if (clips?.state === "failed") return [{ key: "recording", isCritical: true, strong: "Writing clips fails",
        aside: clips.lastError ?? "tried again each second" }];
    if (clips?.state === "suspended") return [{ key: "recording", isCritical: true, strong: "Clips are not recorded",
        aside: clips.suspension ?? "goes on by itself" }];
    if (report.isRecordingWanted === false && report.canRecord && isOnAir(report)) {
        return [{ key: "recording", before: "On air, but ", strong: "not recorded", aside: "stopped by you",
            button: { action: "record", label: "Start recording" } }];
    }
    return [];
}

function secondProblems(report) {
    const trouble = secondTrouble(report);
    return trouble ? [{ key: "second", isCritical: !isRecording(report), strong: "The second directory",
        after: " is not recorded", aside: trouble }] : [];
}

function outputProblems(report, since) {
    const off = (report.outputs ?? []).filter(isOffAir);
    const needing = off.filter(needsOperator).length;
    if (off.length > 2) {
        return [{ key: "outputs", isCritical: !isOnAir(report), strong: `${off.length} outputs`, after: " are off air",
            aside: needing ? `${needing} ${needing === 1 ? "needs" : "need"} you` : "they try again by themselves",
            button: { action: "show-trouble", label: "Show them" } }];
    }
    return off.map((output) => {
        const seconds = since(output.name);
        const next = output.nextAttemptSeconds;
        let aside = needsOperator(output) ? "needs you" : "tries again by itself";
        if (output.state === "connecting") aside = `connecting, attempt ${output.attempt ?? 1}`;
        else if (next !== undefined) aside = `tries again in ${duration(Math.max(1, Math.ceil(next)))}`;
        return { key: `output:${output.name}`, strong: output.name,
            after: ` is off air${seconds === null || seconds < 1 ? "" : ` for ${duration(seconds)}`}`, aside,
            button: { action: "retry", subject: output.name, label: "Retry now",
            isOff: output.state === "connecting" } };
    });
}

function monitorProblems(report) {
    const words = { silence: "Audio is silent", black: "Video is black", frozen: "Video is frozen" };
    return Object.entries(words).filter(([kind]) => report.monitor?.[kind]?.isActive)
        .map(([kind, strong]) => ({ key: kind, strong, after: ` for ${duration(report.monitor[kind].seconds)}` }));
}

function forecastOf(report, encoderLoad) {
    const rows = [];
    const { storage, recorder, upload } = report;
    const left = storage?.secondsUntilFull;
    const now = Date.parse(report.time);
    if (isRecording(report) && left !== undefined) {
        const at = `about ${hourAndMinute(now + left * 1000)}`;
        if (diskIs(report, "critical")) {
            rows.push({ key: "disk", isCritical: true, before: "Recording stops in ", strong: duration(left),
                button: { action: "room", label: "Make room" } });
            rows.push({ key: "then", icon: "clock", before: "From ", strong: hourAndMinute(now + left * 1000),
                after: " on: stream only, no file" });
        } else if (diskIs(report, "warning")) {
            rows.push({ key: "disk", isWarning: true, icon: "disk", before: "Disk full in ", strong: duration(left),
                aside: at, button: { action: "room", label: "Make room" } });
        } else {
            rows.push({ key: "disk", icon: "disk", before: "Disk full in ", strong: duration(left), aside: at });
        }
    }
    const second = report.secondRecording?.storage;
    if (isRecordingAlso(report) && ["warning", "critical"].includes(second?.state)
        && second.secondsUntilFull !== undefined) {
        rows.push({ key: "second-disk", isWarning: true, isCritical: second.state === "critical", icon: "disk",
            before: "Second disk full in ", strong: duration(second.secondsUntilFull) });
    }
    const show = report.runDown;
    if (show?.state === "running" && !show.loops && show.remainingSeconds !== undefined) {
        const isUrgent = diskIs(report, "critical", "warning");
        rows.splice(isUrgent ? rows.length : 0, 0, { key: "rundown", icon: "clock", before: `${show.name} ends in `,
            strong: duration(Math.ceil(show.remainingSeconds)),
            aside: `at ${hourAndMinute(now + show.remainingSeconds * 1000)}` });
    }
    if (isRecording(report) && recorder.nextCut !== undefined) {
        const cut = recorder.nextCut / 1e9 - report.programSeconds;
        if (cut > 0) rows.push({ key: "cut", icon: "split", before: `Segment ${segmentNumber(report)} ends in `,
            strong: duration(cut), aside: `at ${hourAndMinute(now + cut * 1000)}` });
    }
    if (encoderLoad > 0.85) rows.push({ key: "encoder", isWarning: true, icon: "triangle",
        before: "The encoder is near its limit: ", strong: `${Math.round(encoderLoad * 100)} %`,
        after: " of its time" });
    if (upload?.waitingFiles > 2 || upload?.lastError) rows.push({ key: "upload", icon: "up",
        strong: count(upload.waitingFiles, "file"), after: " to upload", aside: upload.lastError ?? "" });
    return rows;
}

/** One row of "Now" or "Next". Its node exists as long as there is an entry with its key. */
class Line {
    constructor(act) {
        this.root = copy("t-line");
        this.parts = partsOf(this.root);
        onPress(this.parts.button, () => act(this.button.action, this.button.subject));
    }

    update(row) {
        this.button = row.button;
        this.root.className = row.isCritical ? "c" : row.isWarning || (row.button && !row.icon) || !row.icon ? "w" : "";
        setIcon(this.parts.icon, row.icon ?? "triangle");
        for (const name of ["before", "strong", "after"]) setText(this.parts[name], row[name]);
        setText(this.parts.aside, row.aside ? ` · ${row.aside}` : "");
        setShown(this.parts.button, Boolean(row.button));
        if (!row.button) return;
        if (this.parts.button.getAttribute("aria-busy") !== "true") setText(this.parts.button.firstElementChild,
            row.button.label);
        this.parts.button.setAttribute("aria-label",
            row.button.subject ? `${row.button.label}: ${row.button.subject}` : row.button.label);
        enable(this.parts.button, !row.button.isOff, "It is connecting now");
    }
}

export class Glance {
    /** `act(action, subject)` performs the action of a row's button. */
    constructor(act) {
        this.now = new KeyedList(byID("now"), () => new Line(act));
        this.next = new KeyedList(byID("next"), () => new Line(act));
        this.told = new Set();
    }

    /** Shows the lamps, the current problems and the expected ones; returns the number of problems. */
    update(state, { now, next }) {
        const { report, isStale } = state;
        this.#air(report, isStale);
        this.#recording(report, isStale);
        const isWell = !isStale && !now.length && report.state === "on_air";
        const hasNothing = isWell && !report.outputs?.length && !report.recorder;
        this.now.show(isStale ? [] : now.slice(0, 3), (row) => row.key);
        this.next.show(isStale ? [] : next.slice(0, 3), (row) => row.key);
        setText(byID("now-count"), now.length > 1 && !isStale ? ` ${now.length} problems` : "");
        setShown(byID("now-well"), isWell && !hasNothing);
        setShown(byID("now-unknown"), isStale || hasNothing || (!now.length && !isWell));
        setText(byID("now-unknown-text"),
            isStale ? "Not known: no contact with relay. What it was doing, it goes on doing."
            : hasNothing ? "No outputs and nothing recorded yet" : "The channel is opening");
        this.#tell(isStale ? [] : now);
    }

    /** Announces each new critical problem once. */
    #tell(now) {
        const critical = now.filter((row) => row.isCritical);
        for (const row of critical) {
            if (this.told.has(row.key)) continue;
            announce(`${row.before ?? ""}${row.strong}${row.after ?? ""}. ${row.aside ?? ""}`, true);
        }
        this.told = new Set(critical.map((row) => row.key));
    }

    #air(report, isStale) {
        const isOn = isOnAir(report);
        const outputs = report.outputs ?? [];
        const paused = outputs.filter((output) => output.state === "paused").length;
        const waiting = outputs.filter((output) => output.state === "waiting").length;
        const live = outputs.filter((output) => output.state === "live").length;
        lamp("air", isOn, isStale ? (isOn ? "Was on air" : "Was off air") : isOn ? "On air" : "Off air");
        setText(byID("air-time"), isOn ? clock(report.programSeconds) : "--:--:--");
        setText(byID("air-sub"), outputs.length
            ? [`${live} of ${outputs.length - paused - waiting} outputs`, waiting && `${waiting} waiting for a caller`,
                paused && `${paused} paused`].filter(Boolean).join(" · ")
            : "add an output to go live");
    }

    #recording(report, isStale) {
        const isOn = isRecording(report);
        const isStopped = diskIs(report, "stopped") || ["suspended", "failed"].includes(report.recorder?.state);
        const words = isOn ? "Recording" : isStopped ? "Recording stopped" : "Not recording";
        const old = isOn ? "Was recording" : "Was not recording";
        const name = matchMedia("(max-width: 700px)").matches ? (text) => text.replace("ecording", "ec")
            : (text) => text;
        lamp("rec", isOn, name(isStale ? old : words), isStopped && !isStale);
        setText(byID("rec-time"), isOn ? clock(recordedSeconds(report)) : "--:--:--");
        setText(byID("rec-sub"), this.#recordingWords(report, isOn));
        for (const id of ["air-sub", "rec-sub"]) setAttribute(byID(id), "title", byID(id).textContent);
    }

    #recordingWords(report, isOn) {
        if (isOn) {
            const gaps = report.recorder.gapCount;
            return `segment ${segmentNumber(report)}${gaps ? ` · ${count(gaps, "gap")} of ${duration(gapSeconds(report))}` : ""}`;
        }
        if (isRecordingAlso(report)) return "in the second directory alone";
        if (diskIs(report, "stopped")) return report.storage.freeBytes <= report.storage.reserveBytes ? "disk full"
            : "the disk cannot be used";
        if (diskIs(report, "refused")) return "too little room to begin";
        if (report.isRecordingWanted === false) return report.canRecord ? "stopped by you" : "no directory is given";
        return { waiting: "waits for a keyframe", failed: "writing fails",
            suspended: "suspended" }[report.recorder?.state] ?? "not started";
    }
}

function lamp(id, isOn, words, isHeld = false) {
    byID(id).classList.toggle("lit", isOn);
    const node = byID(`${id}-lamp`);
    node.classList.toggle("off", !isOn && !isHeld);
    node.classList.toggle("halted", isHeld);
    setText(node, words);
}
