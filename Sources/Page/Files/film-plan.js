// SPDX-License-Identifier: Apache-2.0
// The cost of making a file from clips: how much of it is copied, what is re-encoded, and why.

import { setShown, setText } from "./dom.js";
import { count, sentence } from "./words.js";

/** Milliseconds without a change before the plan is requested, because relay reads every file for it. */
const rest = 1000;

export class FilmPlan {
    /** `ask(clips)` requests the plan from relay and returns a promise of the answer; `node` shows the plan. */
    constructor(node, ask) {
        Object.assign(this, { node, ask, key: "" });
    }

    /** Shows the plan of these clips after a while without changes. */
    show(clips) {
        const key = clips.length ? JSON.stringify(clips) : "";
        if (key === this.key) return;
        this.key = key;
        clearTimeout(this.timer);
        setShown(this.node, false);
        if (key) this.timer = setTimeout(() => this.#look(key, clips), rest);
    }

    async #look(key, clips) {
        try {
            const plan = await this.ask(clips);
            if (key !== this.key) return;
            setText(this.node, wordsOf(plan));
            setShown(this.node, true);
        } catch (problem) {
            // A failed plan is not reported here, because the export reports the cause. A plan that may be possible
            // later is requested again.
            if (problem.status === 503 && key === this.key) this.key = "";
        }
    }
}

function wordsOf({ copiedFrames, encodedFrames, reasons, notes }) {
    const words = encodedFrames === 0 ? `All ${count(copiedFrames, "frame")} as recorded.`
        : `${count(copiedFrames, "frame")} as recorded, ${encodedFrames} coded again.`;
    return [words, ...[...reasons, ...notes].slice(0, 3).map(sentence)].join(" ");
}
