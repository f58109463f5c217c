// SPDX-License-Identifier: Apache-2.0
// The outputs: cards, or a list if there are 13 or more; and the form that adds an output.

import { channelPath, patch, post, remove } from "./api.js";
import {
    announce, byID, copy, enable, holdsFocus, KeyedList, onPress, partsOf, Question, setAttribute, setIcon, setProperty,
    setShown, setText,
} from "./dom.js";
import {
    causeWords, count, dropped, dropSentence, grouped, hourAndMinute, isOffAir, megabits, milliseconds, outputState,
    protocolOf, sentence,
} from "./words.js";

const listFrom = 13;
/** The number of bitrate samples that are kept, one each second. */
const samples = 60;
/** The queue lengths in milliseconds at which an output drops disposable frames, and at which it drops runs of frames
 * up to a keyframe: those of QueueLimits.live. */
const queueTicks = [700, 900];

/** The data kept about each output between reports: its bitrate, and since when it has been off air. */
class History {
    constructor() { this.outputs = new Map(); }

    /** Takes in a report of `time`, in milliseconds of relay's clock; `isFirst` means that no earlier report is
     * known. */
    note(outputs, time, isFirst) {
        const now = performance.now();
        const present = new Set(outputs.map((output) => output.name));
        for (const name of this.outputs.keys()) if (!present.has(name)) this.outputs.delete(name);
        for (const output of outputs) {
            const memory = this.outputs.get(output.name) ?? { rates: [], offSince: null };
            this.outputs.set(output.name, memory);
            const seconds = (time - memory.at) / 1000;
            if (memory.bytes !== undefined && seconds > 0.8) {
                const rate = output.bytes >= memory.bytes ? ((output.bytes - memory.bytes) * 8) / seconds : 0;
                memory.rates.push(output.state === "live" || output.state === "draining" ? rate : 0);
                if (memory.rates.length > samples) memory.rates.shift();
            }
            if (memory.bytes === undefined || seconds > 0.8) Object.assign(memory, { bytes: output.bytes, at: time });
            if (!isOffAir(output)) memory.offSince = null;
            else memory.offSince ??= { at: now, isKnown: !isFirst };
        }
    }

    rates(name) { return this.outputs.get(name)?.rates ?? []; }

    /** Bits a second, averaged over the last three seconds, because data is sent in bursts. */
    rate(name) {
        const last = this.rates(name).slice(-3);
        return last.length ? last.reduce((sum, rate) => sum + rate, 0) / last.length : null;
    }

    /** Seconds off air; null if the output is on air, or if it is unknown when it went off air. */
    offAir(name) {
        const since = this.outputs.get(name)?.offSince;
        return since?.isKnown ? (performance.now() - since.at) / 1000 : null;
    }
}

/** The line of a sparkline of 120×34 pixels; a constant zero is drawn as a line as well. */
function curveOf(rates, top) {
    return rates.map((rate, index) => {
        const x = 120 - (rates.length - 1 - index) * (120 / (samples - 1));
        return `${index ? "L" : "M"}${x.toFixed(1)} ${(33 - (rate / top) * 30).toFixed(1)}`;
    }).join("");
}

/** The last reason as text: the newest event with its time, or else the state. */
function reasonOf(output, event) {
    if (output.state === "connecting") {
        const doing = output.detail ? `${sentence(output.detail)} ` : "";
        return doing || "Connecting.";
    }
    if (output.state === "waiting") return "Nothing is wrong. A receiver begins at a keyframe when it calls.";
    if (isOffAir(output)) return causeWords(output) || "No reason is known yet.";
    if (output.state === "paused") {
        const at = event?.kind === "operator" ? `${hourAndMinute(event.time)} ` : "";
        return `${at}You paused it. It starts again at a keyframe.`;
    }
    if (event) return `${hourAndMinute(event.time)} ${sentence(event.text)}`;
    if (output.state === "live") return output.reconnects ? `Came back ${count(output.reconnects, "time")} so far.`
        : "No trouble since it went live.";
    return output.detail ? sentence(output.detail) : "";
}

/** The common part of cards and rows: buttons, question, failure. */
class OutputView {
    constructor(template, panel) {
        this.root = copy(template);
        this.parts = partsOf(this.root);
        this.panel = panel;
        this.question = new Question(this.parts, { failed: this.parts.failed });
        const path = (rest = "") => channelPath(panel.channel, `/outputs/${encodeURIComponent(this.name)}${rest}`);
        onPress(this.parts.retry, async () => {
            await post(path("/retry"));
            return `${this.name} is being retried.`;
        }, this.parts.failed);
        onPress(this.parts.pause, async () => {
            const isPaused = this.output.state === "paused";
            panel.take(await patch(path(), { paused: !isPaused }));
            return `${this.name} ${isPaused ? "starts again at a keyframe" : "is paused"}.`;
        }, this.parts.failed);
        onPress(this.parts.remove, async () => this.question.open(
            this.parts.remove, this.output.state === "live" ? "On air. Remove?" : "Remove it?", async () => {
                const name = this.name;
                await remove(path());
                panel.forget(name);
                return `${name} is removed.`;
            }));
    }

    update(output) {
        this.output = output;
        this.name = output.name;
        const { parts, panel } = this;
        const state = outputState(output);
        const isPaused = output.state === "paused";
        this.root.classList.remove("good", "bad", "off");
        this.root.classList.add(state.kind);
        setAttribute(this.root, "aria-label", `${output.name}, ${state.words}`);
        setIcon(parts.icon, state.icon);
        setText(parts.name, output.name);
        setText(parts.kind, protocolOf(output) + (output.rendition ? ` · ${output.rendition}` : ""));
        setAttribute(parts.name, "title", output.address);
        const verb = isPaused ? "Resume" : "Pause";
        setIcon(parts["pause-icon"], isPaused ? "play" : "pause");
        this.#name(parts.pause, verb);
        this.#name(parts.remove, "Remove");
        this.#name(parts.retry, "Retry", " now");
        enable(parts.pause, !["stopped", "draining"].includes(output.state), "It is ending");
        enable(parts.remove);
        enable(parts.sure);
        enable(parts.retry, !["connecting", "waiting"].includes(output.state),
            output.state === "waiting" ? "It waits to be called" : "It is connecting now");
        const rates = panel.history.rates(output.name);
        const top = Math.max(1e5, ...rates) * 1.15;
        const curve = curveOf(rates, top);
        setAttribute(parts.curve, "d", curve);
        setAttribute(parts.area, "d", curve
            ? `${curve}L120 34L${(120 - (rates.length - 1) * (120 / (samples - 1))).toFixed(1)} 34Z` : "");
        const rate = panel.history.rate(output.name);
        setText(parts.mbit, rate === null ? "–" : megabits(rate));
        return state;
    }

    #name(button, verb, after = "") {
        setAttribute(button, "aria-label", `${verb} ${this.name}${after}`);
        button.dataset.title = `${verb}${after}`;
    }
}

class Card extends OutputView {
    constructor(panel) {
        super("t-output", panel);
        this.question.hidden = this.parts["why-box"];
    }

    update(output) {
        const state = super.update(output);
        const { parts, panel } = this;
        const isBad = isOffAir(output);
        setText(parts.state, state.words);
        setShown(parts.endpoint, output.endpoint !== undefined && output.endpoint !== "primary");
        setText(parts.endpoint, output.endpoint === "backup" ? "on its backup address" : "redirected");
        setShown(parts.retry, isBad);
        setShown(parts.rate, !isBad);
        const waiting = output.queue?.milliseconds ?? 0;
        const bound = output.queue?.boundMilliseconds || 3000;
        setText(parts.queue, milliseconds(waiting));
        parts.queue.className = waiting > queueTicks[0] ? "w" : "";
        parts.gauge.classList.toggle("full-ish", waiting > queueTicks[0]);
        setProperty(parts.fill, "--fill", Math.min(1, waiting / bound).toFixed(3));
        queueTicks.forEach((tick, index) => setProperty(parts.gauge, `--t${[7, 9][index]}`,
            `${Math.min(100, (tick / bound) * 100).toFixed(1)}%`));
        setText(parts.dropped, grouped(dropped(output)));
        parts.dropped.className = isBad && dropped(output) ? "w" : "";
        setText(parts.reconnects, grouped(output.reconnects ?? 0));
        setText(parts.rtt, output.roundTripSeconds === undefined ? "–" : milliseconds(output.roundTripSeconds * 1000));
        setText(parts.why, reasonOf(output, panel.log.newestOf(panel.channel, output.name)));
        setText(parts.drops, dropSentence(output));
    }
}

class Row extends OutputView {
    constructor(panel) { super("t-row", panel); }

    update(output) {
        const state = super.update(output);
        const { parts } = this;
        const isBad = isOffAir(output);
        setText(parts.state, isBad ? `${state.words} · ${causeWords(output)}` : state.words);
        setAttribute(parts.state, "title", parts.state.textContent);
        setShown(parts.retry, isBad);
        setText(parts.queue, milliseconds(output.queue?.milliseconds ?? 0).replace(" ms", ""));
        setText(parts.rtt, output.roundTripSeconds === undefined ? "–"
            : String(Math.round(output.roundTripSeconds * 1000)));
    }
}

export class Outputs {
    constructor(log) {
        this.log = log;
        this.history = new History();
        this.parts = partsOf(byID("outputs"));
        this.cards = new KeyedList(this.parts.cards, () => new Card(this));
        this.rows = new KeyedList(this.parts.rows, () => new Row(this));
        this.mode = null;
        this.filter = "all";
        this.filters = [...byID("outputs").querySelectorAll("[data-filter]")];
        this.#wire();
        this.form = new AddForm(this);
    }

    #wire() {
        const { parts } = this;
        parts["cards-mode"].addEventListener("click", () => this.#show("cards"));
        parts["list-mode"].addEventListener("click", () => this.#show("list"));
        parts.query.addEventListener("input", () => this.render());
        for (const button of this.filters) button.addEventListener("click", () => this.choose(button.dataset.filter));
    }

    #show(mode) {
        this.mode = mode;
        this.render();
    }

    /** Shows only the outputs in one state. */
    choose(filter) {
        this.filter = filter;
        this.render();
    }

    /** Clears the data about the previous channel when another channel is shown. */
    reset() {
        this.history = new History();
        Object.assign(this, { filter: "all", outputs: undefined });
    }

    /** Takes in a new report. */
    note(report, channel) {
        this.channel = channel;
        this.history.note(report.outputs ?? [], Date.parse(report.time), this.outputs === undefined);
        this.outputs = report.outputs ?? [];
    }

    /** Replaces the known state of one output by the answer to an action. */
    take(output) {
        if (!output?.name) return;
        const index = this.outputs.findIndex((other) => other.name === output.name);
        if (index < 0) this.outputs = [...this.outputs, output];
        else this.outputs = this.outputs.with(index, output);
        this.render();
    }

    /** Removes an output from the page at once; focus moves to the panel's heading. */
    forget(name) {
        const had = holdsFocus(byID("outputs"));
        this.outputs = this.outputs.filter((output) => output.name !== name);
        this.render();
        if (had) byID("outputs-title").focus({ preventScroll: true });
    }

    render() {
        const { parts } = this;
        const outputs = this.outputs ?? [];
        const isLong = outputs.length >= listFrom;
        const mode = this.mode ?? (isLong ? "list" : "cards");
        const shown = this.#order(outputs.filter((output) => this.#matches(output, isLong)), mode);
        this.#counts(outputs);
        setShown(parts.filters, isLong);
        setShown(parts.none, !outputs.length);
        setShown(parts["no-match"], outputs.length > 0 && !shown.length);
        setShown(parts.cards, mode === "cards" && shown.length > 0);
        setShown(parts.list, mode === "list" && shown.length > 0);
        this.cards.show(mode === "cards" ? shown : [], (output) => output.name);
        this.rows.show(mode === "list" ? shown : [], (output) => output.name);
        setAttribute(parts["cards-mode"], "aria-pressed", String(mode === "cards"));
        setAttribute(parts["list-mode"], "aria-pressed", String(mode === "list"));
        for (const button of [parts.add, parts["add-first"], parts["add-now"]]) enable(button);
        enable(parts.check);
    }

    #matches(output, isLong) {
        if (!isLong) return true;
        const kinds = { trouble: isOffAir(output), live: output.state === "live", paused: output.state === "paused" };
        const words = `${output.name} ${output.address} ${output.kind} ${causeWords(output)}`.toLowerCase();
        return (this.filter === "all" || kinds[this.filter])
            && words.includes(this.parts.query.value.trim().toLowerCase());
    }

    /** Cards keep the operator's order. The list puts outputs with problems first, except while the pointer or focus
     * is in it. */
    #order(outputs, mode) {
        if (mode === "cards") return outputs;
        const { list } = this.parts;
        let ordered = [...outputs.filter(isOffAir), ...outputs.filter((output) => !isOffAir(output))];
        if (this.order && (list.matches(":hover") || holdsFocus(list))) {
            const place = new Map(this.order.map((name, index) => [name, index]));
            ordered = ordered.toSorted((a, b) => (place.get(a.name) ?? 1e9) - (place.get(b.name) ?? 1e9));
        }
        this.order = ordered.map((output) => output.name);
        return ordered;
    }

    #counts(outputs) {
        const numbers = {
            live: outputs.filter((output) => output.state === "live").length, trouble: outputs.filter(isOffAir).length,
            waiting: outputs.filter((output) => output.state === "waiting").length,
            paused: outputs.filter((output) => output.state === "paused").length, all: outputs.length,
        };
        const words = [`${numbers.live} live`, numbers.trouble && `${numbers.trouble} off air`,
            numbers.waiting && `${numbers.waiting} waiting for a caller`, numbers.paused && `${numbers.paused} paused`];
        setText(this.parts.count, words.filter(Boolean).join(" · "));
        setShown(this.parts.count, outputs.length > 0);
        this.parts.count.classList.toggle("warn", numbers.trouble > 0);
        const names = { all: "All", trouble: "Trouble", live: "Live", paused: "Paused" };
        for (const button of this.filters) {
            setText(button, `${names[button.dataset.filter]} ${numbers[button.dataset.filter]}`);
            setAttribute(button, "aria-pressed", String(button.dataset.filter === this.filter));
        }
    }
}

/** The form that adds an output. It checks the address first, and never shows a key again. */
class AddForm {
    constructor(panel) {
        this.panel = panel;
        this.parts = panel.parts;
        const { parts } = this;
        for (const button of [parts.add, parts["add-first"]]) onPress(button, async () => this.#toggle(button));
        parts.cancel.addEventListener("click", () => this.#close());
        parts.form.addEventListener("keydown", (event) => { if (event.key === "Escape") this.#close(); });
        for (const field of [parts.address, parts.name, parts.key]) field.addEventListener("input",
            () => this.#changed());
        parts.form.addEventListener("submit", (event) => event.preventDefault());
        onPress(parts.check, () => this.#check());
        onPress(parts["add-now"], () => this.#add());
    }

    #toggle(opener) {
        if (!this.parts.form.hidden) return this.#close();
        this.opener = opener;
        setShown(this.parts.form, true);
        this.parts.add.setAttribute("aria-expanded", "true");
        this.parts.address.focus();
    }

    #close() {
        const { parts } = this;
        setShown(parts.form, false);
        parts.add.setAttribute("aria-expanded", "false");
        parts.form.reset();
        this.#changed();
        parts.add.focus();
    }

    #changed() {
        this.verdict = undefined;
        this.parts.checks.replaceChildren();
        for (const field of [this.parts.address, this.parts.name]) setAttribute(field, "aria-invalid", null);
        setText(this.parts["add-now"].firstElementChild, "Add and go live");
    }

    /** The address as `--output` takes it: the key behind the path, the name behind `#`. Null if a field is invalid. */
    #address() {
        const { parts } = this;
        const [address, fragment] = parts.address.value.trim().split(/#(.*)/s);
        const [name, key] = [parts.name.value.trim(), parts.key.value.trim()];
        if (!address) return this.#wrong(parts.address,
            "The address is missing. It begins with a protocol, such as rtmps: or srt:.");
        if (!/^[A-Za-z0-9._-]{0,40}$/.test(name)) return this.#wrong(parts.name,
            "A name has letters, digits, hyphens, dots and underscores, at most 40.");
        if (key && !/^rtmps?:/i.test(address)) return this.#wrong(parts.address,
            "Only rtmp: and rtmps: take a stream key. For others it is part of the address.");
        const options = [fragment, name && `name=${name}`].filter(Boolean).join(",");
        return `${key ? `${address.replace(/\/+$/, "")}/${key}` : address}${options ? `#${options}` : ""}`;
    }

    #wrong(field, words) {
        setAttribute(field, "aria-invalid", "true");
        this.parts.checks.replaceChildren();
        this.#line("triangle", "failed-step", words);
        field.focus();
        return null;
    }

    #line(icon, kind, words) {
        const line = copy("t-check");
        const parts = partsOf(line);
        line.className = kind;
        setIcon(parts.icon, icon);
        setText(parts.text, words);
        this.parts.checks.append(line);
    }

    async #check() {
        const address = this.#address();
        if (address === null) return undefined;
        const { parts } = this;
        parts.checks.replaceChildren();
        setAttribute(parts.address, "aria-invalid", null);
        this.#line("turning", "", "Checking the address…");
        let answer;
        try {
            answer = await post("v1/check", { address });
        } catch (problem) {
            this.#wrong(parts.address, problem.words ?? "The check failed.");
            return undefined;
        }
        parts.checks.replaceChildren();
        const looks = { ok: ["check", "ok"], failed: ["triangle", "failed-step"], skipped: ["ring", ""] };
        for (const step of answer.steps ?? []) this.#line(...(looks[step.state] ?? looks.skipped), stepWords(step));
        if (answer.isUsable && /^rtmps?:/i.test(address)) this.#line("clock", "",
            "Whether the key is right shows only when it goes live.");
        if (!answer.isUsable) {
            setAttribute(parts.address, "aria-invalid", "true");
            setText(parts["add-now"].firstElementChild, "Add all the same");
        }
        this.verdict = answer.isUsable;
        return answer.isUsable ? "The address is well." : "The address cannot be used now.";
    }

    /** Adds the output. An address that was not checked yet is checked first. */
    async #add() {
        const { parts, panel } = this;
        const address = this.#address();
        if (address === null) return undefined;
        if (this.verdict === undefined) {
            await this.#check();
            if (this.verdict !== true) return undefined;
        }
        try {
            const output = await post(channelPath(panel.channel, "/outputs"), { address });
            panel.take(output);
            this.#close();
            return `${output.name} is being connected.`;
        } catch (problem) {
            if (!problem.words) throw problem;
            const field = problem.status === 409 ? parts.name : parts.address;
            this.#wrong(field, sentence(problem.words));
            announce(problem.words);
            return undefined;
        }
    }
}

function stepWords(step) {
    const names = { address: "Address", resolve: "Name", connect: "Connection", tls: "Certificate" };
    const usual = { ok: "is well", failed: "failed", skipped: "was not tried" };
    return step.detail ? sentence(step.detail) : `${names[step.name] ?? step.name} ${usual[step.state] ?? step.state}.`;
}
