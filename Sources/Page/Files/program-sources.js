// SPDX-License-Identifier: Apache-2.0
// The tiles of a program's sources: snapshot, tally, level, mute and gain. A press puts a source into the preview,
// never on air. A source without video is only heard, and has no snapshot and no number.

import { copy, enable, KeyedList, onPress, partsOf, setAttribute, setIcon, setProperty, setShown, setText, showFailure }
    from "./dom.js";
import { formatWords, waitingWords } from "./inputs.js";
import { drawPlaceholder } from "./snapshots.js";
import { signed, sourceWords } from "./words.js";

/** dBFS at the bottom of the meters; a source below this level counts as silent. */
const bottom = -60;
const share = (level) => Math.min(1, Math.max(0, (level - bottom) / -bottom));
/** The most milliseconds by which audio may be off and still counts as in sync. */
const inStep = 5;
const decibels = (value) => `${value > 0 ? "+" : ""}${signed(value, Number.isInteger(value) ? 0 : 1)} dB`;

export class SourceTiles {
    /** `choose(name)` puts a source into the preview, `change(name, change)` sets its gain or mutes it; both return
     * promises. `seen()` is called when other tiles are scrolled into view. */
    constructor(list, snapshots, { choose, change, seen }) {
        const tileOf = new WeakMap();
        this.observer = new IntersectionObserver((entries) => {
            for (const { target, isIntersecting } of entries) tileOf.get(target).isSeen = isIntersecting;
            seen();
        });
        this.list = new KeyedList(list, () => {
            const tile = new Tile(snapshots, { choose, change });
            tileOf.set(tile.root, tile);
            this.observer.observe(tile.root);
            return tile;
        });
        this.root = list;
    }

    get tiles() { return [...this.list.views.values()]; }

    /** `statuses` contains the state of each source's input, by the source's name. */
    update(sources, statuses) {
        const count = Math.min(6, Math.max(5, sources.length));
        setProperty(this.root, "--columns", count);
        const seen = sources.filter(({ hasVideo }) => hasVideo);
        const items = sources.map((source) => ({ ...source, number: seen.indexOf(source) + 1,
            status: statuses[source.name] }));
        this.list.show(items, (source) => source.name);
    }

    /** `levels` contains the peak of each channel of each source, by the source's name. */
    meter(levels) {
        for (const tile of this.tiles) tile.meter(levels[tile.source.name] ?? []);
    }

    /** Draws a new snapshot of a source. */
    draw(name) { this.list.get(name)?.draw(); }

    /** The tile with this number, counted from 1; tiles of sources without video have no number. */
    at(number) { return this.tiles.find(({ source }) => source.number === number); }

    reset() {
        for (const tile of this.tiles) this.observer.unobserve(tile.root);
        this.list.show([], () => "");
    }
}

class Tile {
    constructor(snapshots, { choose, change }) {
        this.snapshots = snapshots;
        this.change = change;
        this.root = copy("t-tile");
        this.parts = partsOf(this.root);
        this.context = this.parts.snapshot.getContext("2d");
        this.isSeen = false;
        const { parts } = this;
        onPress(parts.pick, () => choose(this.source.name), parts.failed);
        onPress(parts.mute, () => this.#mute(), parts.failed);
        parts.gain.addEventListener("input", () => this.#ask(Number(parts.gain.value)));
        parts.gain.addEventListener("dblclick", () => this.#ask(0));
        parts.gain.addEventListener("pointerup", () => parts.gain.blur());
    }

    async #mute() {
        const { name, isMuted } = this.source;
        await this.change(name, { muted: !isMuted });
        return `${name} is ${isMuted ? "heard again" : "muted"}.`;
    }

    /** Requests a gain, one request at a time: while an answer is awaited, only the newest gain is kept for the next
     * request. */
    async #ask(gain) {
        this.wish = gain;
        this.#gain(gain);
        if (this.isAsking) return;
        this.isAsking = true;
        setShown(this.parts.failed, false);
        try {
            for (let asked = null; asked !== this.wish;) {
                asked = this.wish;
                await this.change(this.source.name, { gain: asked });
            }
        } catch (problem) {
            showFailure(this.parts.failed, problem);
        } finally {
            Object.assign(this, { isAsking: false, wish: undefined });
            this.#gain(this.source.gain);
        }
    }

    update(source) {
        this.source = source;
        const { parts } = this;
        const { hasVideo, number } = source;
        const isLost = hasVideo ? source.input === "slate" : audioTrouble(source) !== "";
        this.root.classList.toggle("audio-only", !hasVideo);
        this.root.classList.toggle("on-air", source.isOnAir);
        // A source on air is always marked as on air, even if it is also in the preview.
        this.root.classList.toggle("in-preview", source.isInPreview && !source.isOnAir);
        this.root.classList.toggle("lost", isLost);
        const hasKey = number > 0 && number < 10;
        setText(parts.number, hasKey ? String(number) : "");
        setShown(parts.number, hasKey);
        const tally = source.isOnAir ? "On air" : source.isInPreview ? "Preview" : "";
        setText(parts.tally, tally);
        setShown(parts.tally, tally !== "");
        setText(parts.name, source.name);
        const state = stateWords(source);
        setText(parts.state, state);
        setShown(parts.lost, isLost);
        setShown(parts["audio-mark"], !hasVideo && !isLost);
        const where = [source.isOnAir && "on air", source.isInPreview && "in the preview"].filter(Boolean).join(", ");
        const words = [source.name, where, state].filter(Boolean).join(", ");
        setAttribute(parts.pick, "aria-label", hasVideo ? `${words}. To the preview` : words);
        setAttribute(parts.pick, "aria-pressed", hasVideo ? source.isInPreview : null);
        this.#levels(source);
        this.#audio(source);
        if (!this.snapshots.get(source.name)) this.draw();
    }

    #audio({ name, hasVideo, isMuted, gain }) {
        const { parts } = this;
        setIcon(parts["mute-icon"], isMuted ? "mute" : "volume");
        setAttribute(parts.mute, "aria-pressed", String(isMuted));
        setAttribute(parts.mute, "aria-label", `Mute ${name}`);
        setAttribute(parts.gain, "aria-label", `Gain of ${name}`);
        enable(parts.pick, hasVideo, "It has no video to show");
        enable(parts.mute);
        parts.gain.disabled = parts.mute.getAttribute("aria-disabled") === "true";
        if (this.wish === undefined) this.#gain(gain);
    }

    #gain(gain) {
        const { parts } = this;
        if (Number(parts.gain.value) !== gain) parts.gain.value = gain;
        setText(parts["gain-words"], decibels(gain));
        setAttribute(parts.gain, "aria-valuetext", decibels(gain).replace("−", "minus "));
    }

    /** Moves the bars of the meter; its text is updated with the next report. */
    meter(levels) {
        const { parts } = this;
        setProperty(parts.left, "--v", share(levels[0] ?? bottom).toFixed(3));
        setProperty(parts.right, "--v", share(levels.at(-1) ?? bottom).toFixed(3));
    }

    #levels({ name, levels, isMuted }) {
        const { parts } = this;
        const loudest = Math.max(bottom, ...levels);
        this.meter(levels);
        setAttribute(parts.levels, "aria-label", `Level of ${name}`);
        setAttribute(parts.levels, "aria-valuenow", Math.round(loudest));
        const words = loudest <= bottom ? "silent" : `${signed(loudest, 0).replace("−", "minus ")} dBFS`;
        setAttribute(parts.levels, "aria-valuetext", isMuted ? "muted" : words);
        this.root.classList.toggle("muted-source", isMuted);
    }

    /** The width in pixels of the snapshot; 0 while the tile is scrolled out of view, and without video. */
    get width() {
        if (!this.isSeen || !this.source.hasVideo) return 0;
        return this.parts.snapshot.clientWidth * Math.min(2, devicePixelRatio);
    }

    draw() {
        const { canvas } = this.context;
        const snapshot = this.snapshots.get(this.source.name);
        if (!snapshot) return drawPlaceholder(this.context, { x: 0, y: 0, width: canvas.width, height: canvas.height },
            this.source.hasVideo ? "No snapshot yet" : "");
        const scale = Math.min(canvas.width / snapshot.width, canvas.height / snapshot.height);
        const [width, height] = [snapshot.width * scale, snapshot.height * scale];
        this.context.fillStyle = "#000";
        this.context.fillRect(0, 0, canvas.width, canvas.height);
        this.context.drawImage(snapshot, (canvas.width - width) / 2, (canvas.height - height) / 2, width, height);
        return undefined;
    }
}

/** Why a source without video delivers no audio; empty if it has no problem. */
const audioTrouble = ({ status }) => (status ? waitingWords(status, "audio") : "");

/** The state of a source in a few words. */
function stateWords(source) {
    const heard = source.isMuted ? "muted" : Math.max(bottom, ...source.levels) <= bottom ? "silent" : "";
    const words = source.hasVideo ? videoWords(source, heard) : audioWords(source, heard);
    return words.filter(Boolean).join(" · ");
}

function audioWords(source, heard) {
    const { state = "opening" } = source.status ?? {};
    return ["audio only", audioTrouble(source) || (state === "running" ? heard : sourceWords[state] ?? state)];
}

function videoWords({ name, input, status, problem }, heard) {
    if (input === "slate") return ["no video", "slate shown"];
    if (!input) return [sourceWords.opening];
    const late = status?.clock?.audioBehindVideoMilliseconds;
    const isRunning = !status || status.state === "running";
    return [
        input === name ? "" : "on its backup",
        problem ? "keyframes only: too much for this machine" : "",
        isRunning ? formatWords(status?.video) : sourceWords[status.state] ?? status.state,
        late === undefined ? "" : stepWords(late),
        heard,
    ];
}

/** By how much audio is out of sync with its video, as text; `late` is in milliseconds. */
function stepWords(late) {
    if (Math.abs(late) < inStep) return "in step";
    return `audio ${Math.round(Math.abs(late))} ms ${late > 0 ? "late" : "early"}`;
}
