// SPDX-License-Identifier: Apache-2.0
// The tiles of a program's sources: snapshot, tally, level, mute and gain. A press brings one into the preview, never on
// air.

import { copy, enable, KeyedList, onPress, partsOf, setAttribute, setIcon, setProperty, setShown, setText, showFailure }
    from "./dom.js";
import { formatWords } from "./inputs.js";
import { drawPlaceholder } from "./snapshots.js";
import { signed, sourceWords } from "./words.js";

/** dBFS at the bottom of the meters, and below which a source counts as silent. */
const bottom = -60;
const share = (level) => Math.min(1, Math.max(0, (level - bottom) / -bottom));
/** The most by which audio may be off and still be in step, in milliseconds. */
const inStep = 5;
const decibels = (value) => `${value > 0 ? "+" : ""}${signed(value, Number.isInteger(value) ? 0 : 1)} dB`;

export class SourceTiles {
    /** `choose(name)` brings a source into the preview, `change(name, change)` sets its gain or mutes it; both return
     * promises. `seen()` is called when other tiles come into sight. */
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

    /** `statuses` are what is known of the sources' inputs, by name. */
    update(sources, statuses) {
        const count = Math.min(6, Math.max(5, sources.length));
        setProperty(this.root, "--columns", count);
        const items = sources.map((source, index) => ({ ...source, number: index + 1, status: statuses[source.name] }));
        this.list.show(items, (source) => source.name);
    }

    /** `levels` are the peaks of each source's channels, by its name. */
    meter(levels) {
        for (const tile of this.tiles) tile.meter(levels[tile.source.name] ?? []);
    }

    /** A new snapshot of a source came. */
    draw(name) { this.list.get(name)?.draw(); }

    /** The tile of a number from 1. */
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

    /** Asks for a gain, one at a time: while an answer is awaited only the newest wish waits. */
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
        const isLost = source.input === "slate";
        this.root.classList.toggle("on-air", source.isOnAir);
        // The program wins: what is on air looks so, whatever else it is.
        this.root.classList.toggle("in-preview", source.isInPreview && !source.isOnAir);
        this.root.classList.toggle("lost", isLost);
        setText(parts.number, source.number < 10 ? String(source.number) : "");
        setShown(parts.number, source.number < 10);
        const tally = source.isOnAir ? "On air" : source.isInPreview ? "Preview" : "";
        setText(parts.tally, tally);
        setShown(parts.tally, tally !== "");
        setText(parts.name, source.name);
        const state = stateWords(source);
        setText(parts.state, state);
        setShown(parts.lost, isLost);
        const where = [source.isOnAir && "on air", source.isInPreview && "in the preview"].filter(Boolean).join(", ");
        setAttribute(parts.pick, "aria-label",
            `${[source.name, where, state].filter(Boolean).join(", ")}. To the preview`);
        setAttribute(parts.pick, "aria-pressed", String(source.isInPreview));
        this.#levels(source);
        this.#audio(source);
        if (!this.snapshots.get(source.name)) this.draw();
    }

    #audio({ name, isMuted, gain }) {
        const { parts } = this;
        setIcon(parts["mute-icon"], isMuted ? "mute" : "volume");
        setAttribute(parts.mute, "aria-pressed", String(isMuted));
        setAttribute(parts.mute, "aria-label", `Mute ${name}`);
        setAttribute(parts.gain, "aria-label", `Gain of ${name}`);
        enable(parts.pick);
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

    /** Moves the bars; words follow with the next report. */
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

    /** The width in pixels at which it is seen; 0 while it is out of sight. */
    get width() { return this.isSeen ? this.parts.snapshot.clientWidth * Math.min(2, devicePixelRatio) : 0; }

    draw() {
        const { canvas } = this.context;
        const snapshot = this.snapshots.get(this.source.name);
        if (!snapshot) return drawPlaceholder(this.context, { x: 0, y: 0, width: canvas.width, height: canvas.height },
            "No snapshot yet");
        const scale = Math.min(canvas.width / snapshot.width, canvas.height / snapshot.height);
        const [width, height] = [snapshot.width * scale, snapshot.height * scale];
        this.context.fillStyle = "#000";
        this.context.fillRect(0, 0, canvas.width, canvas.height);
        this.context.drawImage(snapshot, (canvas.width - width) / 2, (canvas.height - height) / 2, width, height);
        return undefined;
    }
}

/** How a source is, in a few words. */
function stateWords({ name, input, status, levels, isMuted }) {
    if (input === "slate") return "no video · slate shown";
    if (!input) return "is being opened";
    const parts = [];
    if (input !== name) parts.push("on its backup");
    const late = status?.clock?.audioBehindVideoMilliseconds;
    if (status && status.state !== "running") parts.push(sourceWords[status.state] ?? status.state);
    else if (status?.video) parts.push(formatWords(status.video));
    if (late !== undefined) {
        parts.push(Math.abs(late) < inStep ? "in step"
            : `audio ${Math.round(Math.abs(late))} ms ${late > 0 ? "late" : "early"}`);
    }
    if (isMuted) parts.push("muted");
    else if (Math.max(bottom, ...levels) <= bottom) parts.push("silent");
    return parts.join(" · ");
}
