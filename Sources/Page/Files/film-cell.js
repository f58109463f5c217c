// SPDX-License-Identifier: Apache-2.0
// One clip in the list of a file: its first frame, its position, its duration and its transition.

import { copy, partsOf, setAttribute, setText } from "./dom.js";
import { Thumbnail } from "./thumbnails.js";
import { timeOfDay } from "./words.js";

/** The title of a clip. */
export const titleOf = (clip) => clip.name ?? timeOfDay(clip.start);

export class FilmCell {
    constructor(panel) {
        this.panel = panel;
        this.root = copy("t-film");
        this.parts = partsOf(this.root);
        this.thumbnail = new Thumbnail(this.parts.thumbnail);
        const { pick } = this.parts;
        pick.addEventListener("click", () => panel.select(this.item.id));
        pick.addEventListener("dragstart", (event) => {
            event.dataTransfer.setData("text/plain", this.item.id);
            event.dataTransfer.effectAllowed = "move";
        });
        this.root.addEventListener("dragover", (event) => event.preventDefault());
        this.root.addEventListener("drop", (event) => {
            event.preventDefault();
            panel.drop(event.dataTransfer.getData("text/plain"), this.item.id);
        });
    }

    update(item) {
        const { panel, parts } = this;
        const clip = panel.clips.get(item.id);
        this.item = item;
        const number = panel.items.indexOf(item) + 1;
        setText(parts.title, `${number} ${titleOf(clip)}`);
        const offset = item.offset === 0 ? "" : ` · audio ${item.offset > 0 ? "+" : "−"}${Math.abs(item.offset)} ms`;
        setText(parts.about, item.isOut ? "left out" : `${panel.lengthOf(item).toFixed(1)} s${offset}`);
        setText(parts.join, number === 1 ? "" : item.type === "cut" ? "Cut" : `${item.type} ${item.seconds} s`);
        this.root.classList.toggle("left-out", item.isOut === true);
        setAttribute(parts.pick, "aria-pressed", String(item.id === panel.selected));
        setAttribute(parts.pick, "aria-label", `Clip ${number}, ${titleOf(clip)}${item.isOut ? ", left out" : ""}`);
        if (this.thumbnail.address === null) this.thumbnail.show(panel.view.thumbnail(clip));
    }
}
