// SPDX-License-Identifier: Apache-2.0
// The view of a program of several sources: preview and program, the controls between them, the bar, and the tiles of
// the sources.

import { patch, post, put } from "./api.js";
import { byID, enable, onPress, partsOf, Question, setProperty, setShown, setText, showFailure }
    from "./dom.js";
import { isOnAir, isRecording, recordedSeconds } from "./glance.js";
import { audioInputOf, inputsOf } from "./inputs.js";
import { Snapshots } from "./snapshots.js";
import { ProgramBar } from "./program-bar.js";
import { ProgramFeed } from "./program-feed.js";
import { ProgramOverlays } from "./program-overlays.js";
import { ProgramPreview } from "./program-preview.js";
import { RunDownPanel } from "./program-rundown.js";
import { SourceTiles } from "./program-sources.js";
import { canSwap, choosing, inLayout, sceneWords, slate, swapped, transitionWords } from "./scenes.js";
import { clock, grouped } from "./words.js";

/** Controls that handle keys themselves while they have keyboard focus. */
const controls = "button, a[href], input, select, textarea, [role=application], [role=tab], [role=radio]";
/** The widths in which snapshots are requested: only a few, because relay keeps one snapshot of each width for all
 * users. */
const widths = [160, 320, 640];

export class ProgramView {
    /** `known(hasProgram)` is called with whether the channel has a program of several sources. */
    constructor({ known }) {
        this.known = known;
        this.parts = partsOf(byID("view-program"));
        this.thumb = partsOf(byID("thumb-desk"));
        this.isShown = false;
        this.snapshots = new Snapshots((name) => this.#drawn(name));
        this.preview = new ProgramPreview(this.parts, this.snapshots, {
            place: (inset) => this.#place(inset), swap: () => this.#press("swap"),
        });
        this.bar = new ProgramBar(this.parts, {
            layout: (layout) => this.#prepare((now, { sources }) => inLayout(now, layout,
                sources.filter(({ hasVideo }) => hasVideo).map(({ name }) => name))),
            scene: (name) => this.#prepare(() => name),
            transition: (change) => this.feed.change((report) => put(this.feed.path("/preview"),
                { transition: change(report.transition) })).then(() => undefined),
        });
        this.tiles = new SourceTiles(this.parts.sources, this.snapshots, {
            choose: (name) => this.#prepare((now) => choosing(now, name)),
            change: (name, change) => this.feed.change(() => patch(
                this.feed.path(`/sources/${encodeURIComponent(name)}`), change)),
            seen: () => this.#look(),
        });
        this.feed = new ProgramFeed((report) => this.#received(report));
        this.overlays = new ProgramOverlays(this.parts, this.feed, this.parts.failed);
        this.runDown = new RunDownPanel(byID("rundown"), this.feed);
        this.#wire();
    }

    #wire() {
        const { parts, thumb } = this;
        const { failed } = parts;
        const work = {
            take: () => this.#toAir("/take"), auto: () => this.#toAir("/auto"), slate: () => this.#slate(),
            swap: () => this.#prepare(swapped),
        };
        for (const place of [parts, thumb]) {
            for (const name of Object.keys(work)) if (place[name]) onPress(place[name], work[name], failed);
        }
        this.question = new Question(parts, { failed });
        onPress(parts.record, () => this.#record(), failed);
        const resized = new ResizeObserver(() => { this.preview.redraw(); this.#look(); });
        resized.observe(parts.frame);
        const hint = () => setTimeout(() => this.#hint());
        for (const kind of ["focusin", "focusout"]) document.addEventListener(kind, hint);
        document.addEventListener("click", (event) => this.#leaveNoFocus(event));
        document.addEventListener("keydown", (event) => this.#escape(event), { capture: true });
    }

    // ---- Display ----

    /** Whether this view is visible. */
    show(isShown) {
        this.isShown = isShown;
        this.feed.watch(isShown);
        setShown(byID("thumb-desk"), isShown);
        if (this.feed.report) this.#received(this.feed.report);
        this.#look();
    }

    reset() {
        this.feed.choose(null);
        this.asked = undefined;
        this.tiles.reset();
        this.runDown.reset();
        this.preview.reset();
        this.snapshots.forget();
        setText(this.parts.answer, "");
        setShown(this.parts.failed, false);
        if (this.question.isOpen) this.question.close();
    }

    /** Takes in the sources' levels, ten times a second. */
    meter(levels) {
        if (this.isShown && !document.hidden) this.tiles.meter(levels);
    }

    /** Takes in the channel's report, once a second. For a channel without scenes, no program is requested. */
    update(state) {
        this.state = state;
        const { report, channel } = state;
        const hasScenes = report.hasScenes === true;
        const asked = `${channel} ${report.startedAt} ${hasScenes}`;
        if (asked !== this.asked && report.state !== "opening") {
            this.asked = asked;
            this.feed.choose(hasScenes ? channel : null);
            if (!hasScenes) this.known(false);
        }
        this.#recorder(report);
        this.#render();
    }

    #received(report) {
        this.known(report !== null);
        this.#render();
    }

    #render() {
        const { report } = this.feed;
        if (!report || !this.state || !this.isShown) return;
        const { width = 16, height = 9 } = this.state.report.video ?? {};
        this.preview.update(report, width / height);
        this.bar.update(report);
        this.overlays.update(report);
        this.tiles.update(report.sources, this.#statuses(report));
        this.runDown.update(report);
        this.#desk(report);
        this.#look();
    }

    /** The state of the input that each source shows, by the source's name. */
    #statuses({ sources }) {
        const [inputs, audio] = [inputsOf(this.state.report), audioInputOf(this.state.report)];
        return Object.fromEntries(sources.map(({ name, hasVideo, input }) => [name,
            hasVideo ? inputs.find((one) => one.part === name && one.name === input) : audio]));
    }

    #desk(report) {
        const { parts, thumb } = this;
        const { report: status, isStale } = this.state;
        const words = sceneWords(report.scene, report.sceneName);
        const isOn = isOnAir(status);
        setText(parts["program-name"], words);
        setText(parts["program-tag"], isStale ? (isOn ? "Was on air" : "Program") : isOn ? "On air" : "Program");
        byID("view-program").classList.toggle("off-air", !isOn);
        const auto = transitionWords(report.transition);
        const progress = report.progress ?? 0;
        for (const place of [parts, thumb]) {
            for (const name of ["take", "auto"]) enable(place[name]);
            enable(place.slate, report.scene.layout !== "slate", "The slate is on air");
            setText(place["auto-words"], report.progress === undefined ? auto : `${Math.round(progress * 100)} %`);
            setProperty(place.run, "--t", progress.toFixed(3));
            place.run.classList.toggle("running", report.progress !== undefined);
        }
        enable(parts.swap, canSwap(report.preview), "The preview has no second source");
        setText(parts["swap-words"], report.preview.layout.startsWith("split") ? "Swap sides" : "Swap inset");
        this.#hint();
    }

    #recorder(report) {
        const { parts } = this;
        const isOn = isRecording(report);
        const isWanted = report.isRecordingWanted !== false && report.recorder !== undefined;
        setText(parts["record-words"],
            isOn ? `Rec ${clock(recordedSeconds(report))}` : isWanted ? "Rec waits" : "Record");
        setText(parts["record-does"], isWanted ? "Stop recording" : "Start recording");
        parts.record.classList.toggle("recording", isOn && !this.state.isStale);
        enable(parts.record, report.canRecord !== false, "relay was started without a directory to record to");
        enable(parts.sure);
    }

    // ---- Snapshots ----

    /** Requests snapshots of the sources in view, no larger than needed. */
    #look() {
        const { report } = this.feed;
        const wanted = new Map();
        if (this.isShown && report && !this.state?.isStale) {
            for (const tile of this.tiles.tiles) {
                const { name } = tile.source;
                const width = Math.max(tile.width, this.preview.report ? this.preview.widthOf(name) : 0);
                if (width > 0) wanted.set(name, widths.find((one) => one >= width) ?? widths.at(-1));
            }
        }
        this.snapshots.show(this.feed.channel, wanted);
    }

    #drawn(name) {
        this.tiles.draw(name);
        if (this.feed.report?.preview.sources.includes(name)) this.preview.redraw();
    }

    // ---- Requests ----

    /** Puts a scene into the preview: `change(scene, report)` makes it from the scene that is there. */
    async #prepare(change) {
        const answer = await this.feed.change((report) => put(this.feed.path("/preview"),
            { scene: change(report.preview, report) }));
        return `Preview: ${sceneWords(answer.preview, answer.previewName)}`;
    }

    async #toAir(path) {
        const { frame } = await this.feed.change(() => post(this.feed.path(path)));
        return this.#effect(frame);
    }

    async #slate() {
        const { frame } = await this.feed.change(() => put(this.feed.path("/program"), { scene: slate }));
        return this.#effect(frame);
    }

    #effect(frame) {
        const words = `From frame ${grouped(frame)} on`;
        setText(this.parts.answer, words);
        const { report } = this.feed;
        return `${report ? sceneWords(report.scene, report.sceneName) : ""}, from frame ${frame} on`;
    }

    /** Requests another place of the inset; returns whether relay accepted it. */
    async #place(inset) {
        setShown(this.parts.failed, false);
        try {
            await this.feed.change(({ preview }) => put(this.feed.path("/preview"), { scene: { ...preview, inset } }));
            return true;
        } catch (problem) {
            showFailure(this.parts.failed, problem);
            return false;
        }
    }

    async #record() {
        const { channel, report } = this.state;
        const path = (rest) => `v1/channels/${encodeURIComponent(channel)}/recording/${rest}`;
        if (report.isRecordingWanted === false || report.recorder === undefined) {
            await post(path("start"));
            return "Recording starts at the next keyframe.";
        }
        this.question.open(this.parts.record, "Stop recording? The stream goes on.", async () => {
            await post(path("stop"));
            return "Recording stops. The stream goes on.";
        });
        return undefined;
    }

    // ---- Keys ----

    /** The control that has keyboard focus, and therefore handles Space and Enter itself; null if there is no such
     * control. */
    get #held() {
        const node = document.activeElement;
        return node?.matches(controls) && node.matches(":focus-visible") ? node : null;
    }

    #press(name) {
        this.parts[name].click();
    }

    /** Handles a shortcut of the page; returns whether it belongs to this view. */
    key(event) {
        if (!this.isShown || event.shiftKey) return false;
        const digit = /^(?:Digit|Numpad)([1-9])$/.exec(event.code)?.[1];
        const name = { " ": "take", Enter: "auto", s: "swap", S: "swap" }[event.key];
        if (digit) this.tiles.at(Number(digit))?.parts.pick.click();
        else if (!name || (["take", "auto"].includes(name) && this.#held)) return false;
        else this.#press(name);
        event.preventDefault();
        return true;
    }

    /** Escape moves focus back to the view, unless it closes something that is open. */
    #escape(event) {
        if (event.key !== "Escape" || !this.isShown || this.question.isOpen) return;
        if (document.querySelector(".pop:not([hidden]), dialog[open]") || document.fullscreenElement) return;
        this.parts.desk.focus({ preventScroll: true });
    }

    /** Removes focus after a click: otherwise the next press of Space would activate the clicked control again. */
    #leaveNoFocus(event) {
        if (!this.isShown || event.detail === 0) return;
        const node = event.target.closest?.("button, a, [tabindex]");
        if (node && node === document.activeElement && node.getAttribute("aria-haspopup") === null) node.blur();
    }

    #hint() {
        if (!this.isShown || !this.feed.report) return;
        const held = this.#held;
        const number = Math.min(9, this.feed.report.sources.filter(({ hasVideo }) => hasVideo).length);
        setShown(this.parts["hint-desk"], held === null);
        setShown(this.parts["hint-held"], held !== null);
        setText(this.parts["hint-last"], String(number));
        if (held) setText(this.parts["hint-name"], shortName(held));
    }
}

function shortName(node) {
    const name = (node.getAttribute("aria-label") ?? node.textContent).trim().replace(/\s+/g, " ");
    return name.length > 24 ? `${name.slice(0, 23)}…` : name;
}
