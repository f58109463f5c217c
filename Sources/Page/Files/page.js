// SPDX-License-Identifier: Apache-2.0
// The page: which user is signed in, which channel is shown, how old the shown data is, and the update of all panels
// once a second.

import { channelPath, EventStream, Failure, get, post, remove, whenUnauthorized } from "./api.js";
import { ClipsView } from "./clips.js";
import { Deck } from "./deck.js";
import { announce, block, byID, copy, KeyedList, onPress, partsOf, Popover, press, setAttribute, setIcon, setShown,
    setText } from "./dom.js";
import { EventLog } from "./events.js";
import { Glance, isOnAir, isRecording, outlook } from "./glance.js";
import { Outputs } from "./outputs.js";
import { ProgramView } from "./program.js";
import { Recorder, Storage } from "./recorder.js";
import { Recordings } from "./recordings.js";
import { store, stored } from "./storage.js";
import { fragment, Views } from "./views.js";
import { channelWords, duration, timeOfDay } from "./words.js";

/** Seconds after which the shown data counts as old. */
const oldFrom = 3;

class Page {
    constructor() {
        this.log = new EventLog();
        this.deck = new Deck();
        this.outputs = new Outputs(this.log);
        this.recorder = new Recorder();
        this.recordings = new Recordings(this.log);
        this.storage = new Storage({ held: () => this.recordings.held, refresh: () => this.recordings.refresh() });
        this.glance = new Glance((action, subject) => this.act(action, subject));
        this.program = new ProgramView({ known: (hasProgram) => this.allowProgram(hasProgram) });
        this.clips = new ClipsView({
            recordings: () => this.recordings.list, live: (file) => this.recordings.live(file),
            seconds: () => this.deck.preview.programSeconds, told: () => this.#toldSeconds(),
            known: (canRecord) => this.allowClips(canRecord),
        });
        this.views = new Views((view) => this.#viewed(view));
        this.panels = [this.deck, this.outputs, this.recorder, this.recordings, this.program, this.clips];
        this.session = { role: "none" };
        this.channels = [];
        this.reports = new Map();
        this.channel = null;
        this.state = null;
        this.reportsSeen = 0;
        this.stream = new EventStream({
            prepare: () => this.snapshot(), receive: (name, data) => this.receive(name, data), lost: () => this.age(),
        });
        this.#wire();
    }

    #viewed(view) {
        this.program.show(view === "program");
        this.clips.show(view === "clips");
        this.deck.preview.watchFrames(view === "clips");
    }

    #wire() {
        whenUnauthorized(() => this.signIn());
        onPress(byID("reconnect"), async () => this.stream.hurry());
        this.switcher = new Switcher(this);
        new Popover(byID("keyboard"), byID("keys"));
        new Theme();
        new Keys(this);
        this.login = new Login(() => this.begin());
        onPress(byID("sign-out"), async () => {
            await remove("v1/session");
            location.reload();
        });
        setInterval(() => this.age(), 500);
        addEventListener("online", () => this.stream.hurry());
        addEventListener("hashchange", () => this.follow());
    }

    /** Shows the channel that the address names. If there is no such channel, the address is corrected to the channel
     * shown. */
    follow() {
        const { channel, view } = fragment();
        if (this.channels.some(({ name }) => name === channel)) {
            this.views.choose(this.views.names.includes(view) ? view : "live");
            this.switcher.choose(channel);
        }
        if (this.channel) this.views.name(this.channel);
    }

    allowProgram(hasProgram) {
        setShown(byID("program-keys"), hasProgram);
        this.views.allow("program", hasProgram);
    }

    allowClips(canRecord) {
        setShown(byID("clip-keys"), canRecord);
        this.views.allow("clips", canRecord);
    }

    // ---- Start ----

    /** Finds out which user is signed in; then connects to the events, or asks for a token. The data that will be
     * needed next is requested at the same time. */
    async begin() {
        const asking = get("v1/session");
        if (this.session.isTokenRequired === undefined && stored("signedOut") !== "yes") this.#askEarly();
        try {
            this.session = await asking;
        } catch (problem) {
            if (!(problem instanceof Failure)) throw problem;
            byID("now-unknown-text").textContent = "relay does not answer. Trying again.";
            setTimeout(() => this.begin(), 1500);
            return;
        }
        if (this.session.isTokenRequired && this.session.role === "none") return this.signIn();
        this.login.close();
        store("signedOut", "");
        setShown(byID("role"), this.session.role === "view");
        setShown(byID("sign-out"), this.session.isTokenRequired);
        this.stream.start();
    }

    #askEarly() {
        this.early = ["v1", "v1/channels"].map((path) => get(path, { isEarly: true }));
        for (const answer of this.early) answer.catch(() => {});
        const channel = this.#wanted;
        if (!channel || document.hidden) return;
        this.deck.preview.expect(channel);
        this.early.push(get(channelPath(channel), { isEarly: true }));
        this.early[2].catch(() => {});
    }

    /** The channel that the address names, or else the channel that was shown last. */
    get #wanted() { return this.channel ?? (fragment().channel || stored("channel")); }

    /** Returns the answer to an early request, or requests the data again. */
    #answer(index, path) {
        const early = this.early?.[index];
        if (this.early) delete this.early[index];
        return early ? early.catch(() => get(path)) : get(path);
    }

    signIn() {
        this.stream.stop();
        store("signedOut", "yes");
        this.login.open();
    }

    // ---- Data from relay ----

    /** Fetches a fresh snapshot before events are received: of the process, its channels, and the channel shown. */
    async snapshot() {
        const wanted = this.#wanted;
        const [process, { channels }] = await Promise.all([this.#answer(0, "v1"), this.#answer(1, "v1/channels")]);
        const isOther = this.startedAt !== undefined && this.startedAt !== process.startedAt;
        this.startedAt = process.startedAt;
        this.channels = channels ?? [];
        const channel = this.channels.find(({ name }) => name === wanted)?.name ?? this.channels[0]?.name;
        if (channel === undefined) return this.#empty();
        this.choose(channel, isOther);
        this.take(await (channel === wanted ? this.#answer(2, channelPath(channel)) : get(channelPath(channel))));
        this.early = undefined;
    }

    /** Shows that relay runs without any channel. */
    #empty() {
        this.channel = null;
        document.body.classList.remove("loading");
        setText(byID("now-unknown-text"), "relay runs, but no channel does yet.");
        setText(byID("channel-name"), "No channel");
    }

    /** Reads the list of channels again, because a reload of the configuration can add and remove channels. */
    async refreshChannels() {
        const { channels } = await get("v1/channels").catch(() => ({}));
        if (!channels) return;
        this.channels = channels;
        if (!channels.length) this.#empty();
        else if (!channels.some(({ name }) => name === this.channel)) this.switcher.choose(channels[0].name);
    }

    receive(name, data) {
        if (name === "status") {
            const report = { ...data, name: data.name ?? data.channel };
            this.reports.set(report.name, report);
            if (!this.channels.some((channel) => channel.name === report.name)) this.refreshChannels();
            if (report.name === this.channel) this.take(report);
        } else if (name === "meters") {
            if (data.channel !== this.channel) return;
            if (data.momentary !== undefined) this.deck.meter(data);
            if (data.sources) this.program.meter(data.sources);
        } else if (name === "event") {
            this.log.add(data);
            const isNew = Date.now() - Date.parse(data.time) < 10000;
            if (isNew && data.kind === "channel") this.refreshChannels();
            if (isNew && ["recorder", "storage", "export"].includes(data.kind)) this.recordings.readAt = -Infinity;
        }
    }

    /** Shows a channel; `isAnew` clears the data that was kept about it. */
    choose(channel, isAnew = false) {
        if (channel === this.channel && !isAnew) return;
        if (channel !== this.channel) {
            this.views.name(channel);
            store("channel", channel);
        }
        this.channel = channel;
        this.reportsSeen = 0;
        for (const panel of this.panels) panel.reset();
        if (this.reports.has(channel) && !isAnew) this.take(this.reports.get(channel));
    }

    /** Takes in a report of the channel shown, and displays it. */
    take(report) {
        const channel = this.channel;
        this.reports.set(channel, report);
        this.reportsSeen += 1;
        this.state = { report, channel, receivedAt: performance.now(), isStale: false, reportsSeen: this.reportsSeen };
        this.outputs.note(report, channel);
        document.body.classList.remove("loading");
        this.age();
        this.render();
    }

    // ---- Display ----

    render() {
        const { state } = this;
        if (!state) return;
        const views = outlook(state.report, (name) => this.outputs.history.offAir(name), this.deck.encoderLoad);
        this.deck.update(state);
        this.glance.update(state, views);
        this.recorder.update(state);
        this.outputs.render();
        this.recordings.update(state);
        this.program.update(state);
        this.clips.update(state);
        this.storage.update(state);
        this.log.update(state.channel);
        this.switcher.update();
        this.#title(state, views.now.length);
    }

    #title({ report, channel, isStale }, problems) {
        const name = this.channels.length ? ` · ${channel}` : "";
        const words = isStale ? "? No contact"
            : `${problems ? `▲ ${problems} · ` : ""}${isOnAir(report) ? "● On air" : "○ Off air"}`;
        if (document.title !== `${words}${name} · relay`) document.title = `${words}${name} · relay`;
    }

    /** The program's time now, extrapolated from the last report; null if the program is off air. */
    #toldSeconds() {
        const { report, receivedAt } = this.state ?? {};
        return report?.state === "on_air" ? report.programSeconds + (performance.now() - receivedAt) / 1000 : null;
    }

    /** Shows how old the data is. Old data is marked, and no button can be pressed. */
    age() {
        const { state } = this;
        if (!state) return;
        const seconds = (performance.now() - state.receivedAt) / 1000;
        const isStale = seconds >= oldFrom;
        const words = seconds < 10 ? `${seconds.toFixed(1)} s` : duration(seconds);
        setText(byID("age"), words);
        setShown(byID("age-word"), true);
        byID("fresh").className = isStale ? "fresh old" : "fresh well";
        if (isStale) this.#staleWords(seconds);
        if (isStale !== state.isStale || isStale !== document.body.classList.contains("stale")) this.#turn(isStale);
        block(isStale ? "No contact with relay" : this.session.role === "view"
            ? "You may look, but not operate: sign in with an operator's token" : "");
    }

    #turn(isStale) {
        this.state.isStale = isStale;
        document.body.classList.toggle("stale", isStale);
        setShown(byID("stale"), isStale);
        block(isStale ? "No contact with relay" : "");
        if (isStale) {
            announce("No contact with relay. What it was doing, it goes on doing.", true);
            this.render();
        } else {
            announce("Contact with relay is back.");
        }
    }

    #staleWords(seconds) {
        const at = timeOfDay(Date.now() - seconds * 1000);
        const wait = Math.ceil((this.stream.nextAttempt - performance.now()) / 1000);
        const next = this.stream.nextAttempt && wait > 0 ? `Trying again in ${wait} s.` : "Trying now.";
        const what = `No contact with relay for ${duration(seconds)}.`;
        setText(byID("stale-text"), `${what} Everything below is from ${at} and may have changed. ${next}`);
    }

    /** Performs the action of a button in the glance bar. */
    act(action, subject) {
        if (action === "record") return this.recorder.start();
        if (action === "room") return this.storage.point();
        if (action === "show-trouble") {
            this.outputs.choose("trouble");
            byID("outputs").scrollIntoView();
            return byID("outputs-title").focus({ preventScroll: true });
        }
        return post(channelPath(this.channel,
            `/outputs/${encodeURIComponent(subject)}/retry`)).then(() => `${subject} is being retried.`);
    }
}

/** The list of channels in the header, each with lamp, state and problems; `[` and `]` step through them. */
class Switcher {
    constructor(page) {
        this.page = page;
        this.popover = new Popover(byID("channel"), byID("channels"), () => this.update());
        this.list = new KeyedList(partsOf(byID("channels")).list, () => new ChannelRow(this));
    }

    /** The data about each channel: from its newest report, or else from the list of channels. */
    get rows() {
        return this.page.channels.map((channel) => {
            const report = this.page.reports.get(channel.name);
            if (!report) return channel;
            return { ...channel, state: report.state, isOnAir: isOnAir(report), isRecording: isRecording(report),
                problems: outlook(report).now.length };
        });
    }

    update() {
        const { channel, state } = this.page;
        setText(byID("channel-name"), channel ?? "No channel");
        byID("channel-lamp").classList.toggle("off", !state || !isOnAir(state.report));
        if (!byID("channels").hidden || !this.list.views.size) this.list.show(this.rows, (row) => row.name);
    }

    choose(name) {
        if (!this.popover.root.hidden) this.popover.close(true);
        this.page.choose(name);
        if (!this.page.reports.has(name)) get(channelPath(name)).then((report) => this.page.channel === name
            && this.page.take(report)).catch(() => {});
    }

    /** Shows the channel `by` positions further in the list. */
    step(by) {
        const names = this.page.channels.map(({ name }) => name);
        if (names.length < 2) return;
        const next = names[(names.indexOf(this.page.channel) + by + names.length) % names.length];
        this.choose(next);
        announce(`Channel ${next}`);
    }
}

class ChannelRow {
    constructor(switcher) {
        this.root = copy("t-channel");
        this.parts = partsOf(this.root);
        this.root.firstElementChild.addEventListener("click", () => switcher.choose(this.name));
        this.switcher = switcher;
    }

    update(channel) {
        const { parts } = this;
        this.name = channel.name;
        setAttribute(this.root.firstElementChild, "aria-current",
            channel.name === this.switcher.page.channel ? "true" : null);
        parts.lamp.classList.toggle("off", !channel.isOnAir);
        setText(parts.name, channel.name);
        setText(parts.about, channelWords(channel));
        setShown(parts.problems, channel.problems > 0);
        setText(parts.number, `${channel.problems}`);
        setAttribute(parts.problems, "title", channel.problems === 1 ? "1 problem" : `${channel.problems} problems`);
    }
}

/** The dialog that asks for a token. */
class Login {
    constructor(signedIn) {
        this.root = byID("login");
        // Escape must not close this dialog; if a second press closes it all the same, it is opened again.
        this.root.addEventListener("cancel", (event) => event.preventDefault());
        this.root.addEventListener("close", () => this.isNeeded && this.open());
        byID("login-form").addEventListener("submit", (event) => {
            event.preventDefault();
            press(byID("login-go"), async () => {
                await post("v1/session", { token: byID("login-token").value });
                byID("login-form").reset();
                signedIn();
            }, byID("login-failed"));
        });
    }

    open() {
        document.body.classList.remove("loading");
        this.isNeeded = true;
        if (!this.root.open) this.root.showModal();
    }

    close() {
        this.isNeeded = false;
        if (this.root.open) this.root.close();
    }
}

/** The color theme: that of the system, or the opposite one. */
class Theme {
    constructor() {
        this.choice = stored("theme") ?? "";
        byID("theme").addEventListener("click", () => this.#next());
        this.#show();
    }

    #next() {
        const [system, other] = matchMedia("(prefers-color-scheme: dark)").matches ? ["dark", "light"]
            : ["light", "dark"];
        this.choice = { "": other, [other]: system, [system]: "" }[this.choice];
        store("theme", this.choice);
        this.#show();
    }

    #show() {
        const root = document.documentElement;
        if (this.choice) root.dataset.theme = this.choice;
        else delete root.dataset.theme;
        setIcon(byID("theme").querySelector("use"), this.choice === "dark" ? "moon" : "sun");
        byID("theme").setAttribute("aria-label", `Theme: ${this.choice || "as the system"}`);
    }
}

/** Shortcuts of a single key: they are ignored in fields and with a modifier key, and they can be switched off. */
class Keys {
    constructor(page) {
        const box = byID("keys-on");
        box.checked = stored("keys") !== "off";
        box.addEventListener("change", () => store("keys", box.checked ? "" : "off"));
        document.addEventListener("keydown", (event) => {
            if (!box.checked || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
            if (event.target.closest?.("input, select, textarea, dialog")) return;
            if (event.key === "m" || event.key === "M") page.recorder.quickMarker();
            else if (event.key === "[") page.switcher.step(-1);
            else if (event.key === "]") page.switcher.step(1);
            else if (!page.clips.key(event)) page.program.key(event);
        });
    }
}

new Page().begin();
