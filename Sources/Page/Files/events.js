// SPDX-License-Identifier: Apache-2.0
// The log of events: all events or only problems, newest first, the last 500.

import { byID, copy, KeyedList, partsOf, setAttribute, setIcon, setShown, setText } from "./dom.js";
import { timeOfDay } from "./words.js";

const kept = 500;
const icons = {
    output: "ring", recorder: "film", storage: "disk", input: "ring", alarm: "triangle", operator: "check",
        marker: "flag", channel: "ring", export: "cut",
};
export const isProblem = (event) => event.level === "warning" || event.level === "error";

export class EventLog {
    constructor() {
        this.parts = partsOf(byID("events"));
        this.events = [];
        this.showsProblems = false;
        this.list = new KeyedList(this.parts.list, () => new EventRow());
        for (const [name, value] of [["all", false], ["problems", true]]) {
            this.parts[name].addEventListener("click", () => this.#choose(value));
        }
    }

    /** Adds an event, unless it is there already. Ids are unique, also across restarts of relay. */
    add(event) {
        if (this.events.some((other) => other.id === event.id)) return;
        this.events.unshift(event);
        if (this.events.length > kept) this.events.pop();
        this.isDue = true;
    }

    /** Shows the events of `channel`, and those that belong to no channel. */
    update(channel) {
        if (!this.isDue && channel === this.channel) return;
        Object.assign(this, { isDue: false, channel });
        const events = this.events.filter((event) => !event.channel || event.channel === channel)
            .filter((event) => !this.showsProblems || isProblem(event));
        this.list.show(events, (event) => event.id);
        setShown(this.parts.none, !events.length);
        setText(this.parts.none, this.showsProblems && this.events.length ? "No problems."
            : "Nothing has happened yet.");
        setShown(this.parts.list, events.length > 0);
    }

    /** The newest event of an output. */
    newestOf(channel, output) {
        return this.events.find((event) => event.channel === channel && event.output === output);
    }

    /** The markers that were set, for the timeline. */
    markersOf(channel) {
        return this.events.filter((event) => event.channel === channel && event.kind === "marker");
    }

    #choose(showsProblems) {
        this.showsProblems = showsProblems;
        setAttribute(this.parts.all, "aria-pressed", String(!showsProblems));
        setAttribute(this.parts.problems, "aria-pressed", String(showsProblems));
        this.isDue = true;
        this.update(this.channel);
    }
}

class EventRow {
    constructor() {
        this.root = copy("t-event");
        this.parts = partsOf(this.root);
    }

    update(event) {
        if (this.event === event) return;
        this.event = event;
        const bad = isProblem(event);
        this.root.className = bad ? "ev w" : "ev";
        setText(this.parts.time, timeOfDay(event.time));
        setAttribute(this.parts.time, "datetime", event.time);
        setIcon(this.parts.icon, bad ? "triangle" : icons[event.kind] ?? "ring");
        setText(this.parts.text, event.text);
    }
}
