// SPDX-License-Identifier: Apache-2.0
// What making the file of clips would take: how much of it is copied, and what is coded again and why.

import { setShown, setText } from "./dom.js";
import { count, sentence } from "./words.js";

/** Milliseconds that nothing changes before it is asked for: relay looks at every file for it. */
const rest = 1000;

export class FilmPlan {
    /** `ask(clips)` asks relay and promises its answer; `node` shows it. */
    constructor(node, ask) {
        Object.assign(this, { node, ask, key: "" });
    }

    /** Shows the plan of these clips, when nothing changes for a while. */
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
            // It is no mistake of whoever edits: the export says what is wrong. What may be possible later is asked again.
            if (problem.status === 503 && key === this.key) this.key = "";
        }
    }
}

function wordsOf({ copiedFrames, encodedFrames, reasons, notes }) {
    const words = encodedFrames === 0 ? `All ${count(copiedFrames, "frame")} as recorded.`
        : `${count(copiedFrames, "frame")} as recorded, ${encodedFrames} coded again.`;
    return [words, ...[...reasons, ...notes].slice(0, 3).map(sentence)].join(" ");
}
