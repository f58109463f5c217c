// SPDX-License-Identifier: Apache-2.0
// The deck: preview, program clock, the source on air, loudness, and urgent problems over the video.

import { channelPath, urlOf } from "./api.js";
import { announce, byID, setAttribute, setIcon, setProperty, setShown, setText } from "./dom.js";
import { formatWords, inputOnAir, onAirName, troublesOnAir } from "./inputs.js";
import { LivePreview } from "./live-preview.js";
import { clock, duration, signed } from "./words.js";

/** LUFS at the bottom of the bars. The scale is linear from there to 0, as its labels show. */
const bottom = -60;
const share = (level) => Math.min(1, Math.max(0, (level - bottom) / -bottom));
/** EBU R128: the target loudness, and the deviation that is still on target, in LUFS and LU. */
const target = { level: -23, tolerance: 1 };
/** Momentary loudness below which audio counts as silent. */
const silent = -60;
/** Milliseconds without a reading after which the meters fall. */
const readingLasts = 600;

export class Deck {
    constructor() {
        this.preview = new LivePreview({
            stage: byID("stage"), video: byID("preview"), still: byID("still"), cover: byID("cover"),
                coverText: byID("cover-text"),
        });
        this.levels = {};
        this.hold = { level: bottom, since: 0 };
        this.troubles = new Map();
        byID("listen").addEventListener("click", () => this.#listen());
        byID("full-screen").addEventListener("click", () => this.#fullScreen());
        setInterval(() => this.#often(), 100);
        setInterval(() => this.#light(), 1000);
    }

    // ---- Once a second: text ----

    /** `state` is the page's state: report, channel, isStale, isSeen. */
    update(state) {
        const { report, channel } = state;
        this.state = state;
        this.preview.show(channel, report);
        setText(byID("source-name"), onAirName(report));
        setText(byID("source-info"), this.#info(report));
        byID("snapshot").href = urlOf(channelPath(channel, "/snapshot.jpg"));
        byID("snapshot").download = `${channel}.jpg`;
        this.#alarm(report, state);
        this.#loudnessWords();
    }

    /** Clears all values of the previous channel when another channel is shown. */
    reset() {
        this.levels = {};
        this.encoder = undefined;
        this.troubles.clear();
        setShown(byID("alarm"), false);
    }

    #info(report) {
        if (report.state !== "on_air") return { opening: "opening", waiting: "waiting for its source",
            over: "the program is over" }[report.state] ?? "waiting for the first frame";
        const parts = [];
        if (report.video) parts.push(formatWords({ ...report.video, frameRate: report.frameRate }));
        const late = inputOnAir(report)?.clock?.audioBehindVideoMilliseconds;
        if (late !== undefined) {
            const value = Math.round(late);
            parts.push(value === 0 ? "audio in step" : `audio ${Math.abs(value)} ms ${value > 0 ? "late" : "early"}`);
        }
        const load = this.#encoderLoad(report);
        if (load !== null) parts.push(`encoder at ${Math.round(load * 100)} % of its time`);
        return parts.join(" · ") || "on air";
    }

    /** The share of the time since the last report for which the encoder was busy. */
    #encoderLoad(report) {
        const now = { busy: report.encoder?.callerSeconds, program: report.programSeconds };
        const before = this.encoder;
        if (now.busy === undefined) return null;
        if (!before || now.program - before.program >= 0.5 || now.program < before.program) {
            this.encoder = now;
            const seconds = before ? now.program - before.program : 0;
            if (seconds > 0) this.load = (now.busy - before.busy) / seconds;
        }
        return before && this.load >= 0 ? this.load : null;
    }

    get encoderLoad() { return this.load ?? 0; }

    /** Shows the worst problem on air as text over the video, and how many others there are. */
    #alarm(report, state) {
        const troubles = report.state === "on_air" ? troublesOnAir(report) : [];
        const names = new Set(troubles.map(({ name }) => name));
        for (const name of this.troubles.keys()) if (!names.has(name)) this.troubles.delete(name);
        for (const { name, title, text } of troubles.filter((trouble) => !this.troubles.has(trouble.name))) {
            this.troubles.set(name, { since: Date.now(), isKnown: state.reportsSeen > 1 });
            announce(`${title}. ${text}`, true);
        }
        const [trouble, ...others] = troubles;
        if (trouble) {
            const { since, isKnown } = this.troubles.get(trouble.name);
            const seconds = (Date.now() - since) / 1000;
            setText(byID("alarm-title"), trouble.title + (isKnown && seconds >= 1 ? ` for ${duration(seconds)}` : ""));
            setText(byID("alarm-text"), trouble.text
                + (others.length ? ` Nor is there any from ${others.map(({ name }) => name).join(", ")}.` : ""));
        }
        setShown(byID("alarm"), trouble !== undefined);
    }

    #loudnessWords() {
        const { momentary, integrated, truePeak, shortTerm } = this.levels;
        const isKnown = momentary !== undefined && !this.state?.isStale;
        const isSilent = isKnown && momentary <= silent;
        let word = "";
        if (isSilent) word = "silent";
        else if (isKnown && Math.abs(integrated - target.level) <= target.tolerance) word = "on target";
        else if (isKnown) word = integrated < target.level ? "too quiet" : "too loud";
        setText(byID("loudness"), !isKnown ? "–" : isSilent ? "−∞" : signed(integrated));
        setText(byID("loudness-word"), isKnown ? word : "");
        byID("loudness-word").className = word === "on target" ? "" : "w";
        setAttribute(byID("meter-number"), "title", isKnown ? `Integrated; true peak ${signed(truePeak)} dBTP` : null);
        const meter = byID("meter");
        setAttribute(meter, "aria-valuenow", isKnown ? Math.round(Math.max(bottom, momentary)) : bottom);
        const said = (level) => signed(level).replace("−", "minus ");
        let words = "not known";
        if (isKnown) {
            words = isSilent ? "silent"
                : `momentary ${said(momentary)}, short-term ${said(shortTerm)}, integrated ${said(integrated)} LUFS, ${word}`;
            words += `, true peak ${said(truePeak)} dBTP`;
        }
        setAttribute(meter, "aria-valuetext", words);
    }

    // ---- Ten times a second: meters ----

    /** A reading of the meters. */
    meter(reading) {
        this.levels = reading;
        this.heard = performance.now();
    }

    #often() {
        if (document.hidden) return;
        this.#bars();
        this.#clock();
    }

    #bars() {
        const isFresh = performance.now() - (this.heard ?? -Infinity) < readingLasts;
        if (!isFresh) this.levels = {};
        for (const bar of byID("meter").querySelectorAll("[data-meter]")) {
            const level = this.levels[bar.dataset.meter] ?? bottom;
            setProperty(bar.firstElementChild, "--v", share(level).toFixed(3));
        }
        const now = performance.now();
        const level = this.levels.momentary ?? bottom;
        if (level >= this.hold.level || now - this.hold.since > 1500) {
            this.hold = { level: Math.max(level, this.hold.level - 1),
                since: level >= this.hold.level ? now : this.hold.since };
        }
        const peak = byID("meter").querySelector("b");
        setProperty(peak, "--p", share(this.hold.level).toFixed(3));
        setProperty(peak, "--o", this.hold.level > bottom ? 1 : 0);
    }

    #clock() {
        const { report, receivedAt, isStale } = this.state ?? {};
        if (report?.state !== "on_air") {
            return this.#clocks("--:--:--", "");
        }
        if (isStale) return undefined;
        const rate = report.frameRate ? report.frameRate.numerator / report.frameRate.denominator : 25;
        const time = report.programSeconds + Math.min(1.2, (performance.now() - receivedAt) / 1000);
        return this.#clocks(clock(time), `:${String(Math.floor((time % 1) * rate)).padStart(2, "0")}`);
    }

    /** Shows the program's time at all places in the page that display it. */
    #clocks(time, frames) {
        for (const node of document.querySelectorAll("[data-clock]")) {
            setText(node, node.dataset.clock === "time" ? time : frames);
        }
    }

    /** Echo and ambient light: a few pixels of the program, once a second. The canvases are stretched behind other
     * elements, which blurs them further. */
    #light() {
        if (document.hidden || this.state?.isStale) return;
        const brightness = getComputedStyle(document.documentElement).getPropertyValue("--echo") || 1;
        const echo = tint(byID("echo"), this.preview.surface, `blur(1.5px) saturate(1.6) brightness(${brightness})`, 1);
        const { width, height } = echo.canvas;
        const ambient = tint(byID("ambient"), this.preview.surface, "blur(1.5px) saturate(2)", 0.17);
        const fade = ambient.createLinearGradient(0, height * 0.2, 0, height);
        fade.addColorStop(0, "#000");
        fade.addColorStop(1, "transparent");
        ambient.globalCompositeOperation = "destination-in";
        ambient.fillStyle = fade;
        ambient.fillRect(0, 0, width, height);
    }

    // ---- Buttons ----

    #listen() {
        const { video } = this.preview;
        video.muted = !video.muted;
        const button = byID("listen");
        button.setAttribute("aria-pressed", String(!video.muted));
        setIcon(button.querySelector("use"), video.muted ? "mute" : "volume");
        if (!video.muted) video.play().catch(() => {});
    }

    #fullScreen() {
        if (document.fullscreenElement) document.exitFullscreen();
        else byID("stage").requestFullscreen?.().catch(() => announce("This browser does not allow full screen here."));
    }
}

/** Draws `surface` over a complete small canvas. */
function tint(canvas, surface, filter, alpha) {
    const context = canvas.getContext("2d");
    context.reset();
    Object.assign(context, { filter, globalAlpha: alpha });
    // The image extends beyond the edges of the canvas, so that no blank area is blurred into it.
    context.drawImage(surface, -2, -2, canvas.width + 4, canvas.height + 4);
    Object.assign(context, { filter: "none", globalAlpha: 1 });
    return context;
}
