// SPDX-License-Identifier: Apache-2.0
// The start and the end of a clip in a file: two sliders of frames with their timecodes, buttons for one frame, and
// images of the frames at both ends.

import { enable, onPress, partsOf, setAttribute, setText } from "./dom.js";
import { Thumbnail } from "./thumbnails.js";
import { count, timecode } from "./words.js";

/** Milliseconds without movement of a slider before the image of its frame is requested. */
const rest = 200;

export class FilmTrim {
    /** `change(skipStart, skipEnd)` is called with the number of frames that are cut off at either end;
     * `thumbnail(clip, seconds)` returns the address of a frame's image. */
    constructor(root, { change, thumbnail }) {
        Object.assign(this, { parts: partsOf(root), change, thumbnail });
        const { parts } = this;
        this.images = { in: new Thumbnail(parts.first), out: new Thumbnail(parts.last) };
        for (const [name, step] of [["in-less", -1], ["in-more", 1]]) {
            onPress(parts[name], () => this.#move(this.item.skipStart + step, this.item.skipEnd));
        }
        for (const [name, step] of [["out-less", -1], ["out-more", 1]]) {
            onPress(parts[name], () => this.#move(this.item.skipStart, this.item.skipEnd - step));
        }
        parts.in.addEventListener("input", () => this.#move(Number(parts.in.value), this.item.skipEnd));
        parts.out.addEventListener("input",
            () => this.#move(this.item.skipStart, this.clip.frames - 1 - Number(parts.out.value)));
    }

    /** Moves a slider. Each slider stops at the other one, so that at least one frame remains. */
    #move(start, end) {
        const most = this.clip.frames - 1;
        const isStart = start !== this.item.skipStart;
        const skipStart = Math.max(0, Math.min(start, isStart ? most - end : most));
        this.change(skipStart, Math.max(0, Math.min(end, most - skipStart)));
    }

    update(item, clip) {
        const isOther = clip.id !== this.clip?.id;
        Object.assign(this, { item, clip });
        const last = clip.frames - 1;
        const rate = clip.frames / clip.durationSeconds;
        const at = { in: item.skipStart, out: last - item.skipEnd };
        const words = { in: `${count(item.skipStart, "frame")} left out before it`,
            out: `${count(item.skipEnd, "frame")} left out behind it` };
        for (const [name, frame] of Object.entries(at)) {
            const slider = this.parts[name];
            setAttribute(slider, "max", last);
            if (Number(slider.value) !== frame) slider.value = frame;
            setText(this.parts[`${name}-words`], timecode(frame, rate));
            setAttribute(slider, "aria-valuetext", `${timecode(frame, rate)}, ${words[name]}`);
            setAttribute(slider, "title", words[name]);
        }
        enable(this.parts["in-less"], at.in > 0, "It begins with its first frame");
        enable(this.parts["out-more"], at.out < last, "It ends with its last frame");
        for (const name of ["in-more", "out-less"]) enable(this.parts[name], at.in < at.out, "One frame stays");
        this.#look(at, isOther);
    }

    /** Shows the frames at both ends after the sliders have stopped. */
    #look(at, isOther) {
        const key = `${this.clip.id} ${at.in} ${at.out}`;
        if (key === this.shown && !this.isMissing) return;
        if (isOther) for (const image of Object.values(this.images)) image.clear();
        if (key !== this.shown) clearTimeout(this.timer);
        else if (this.timer) return;
        this.shown = key;
        const { clip } = this;
        this.timer = setTimeout(() => {
            this.timer = undefined;
            const frame = clip.durationSeconds / clip.frames;
            const addresses = Object.entries(at).map(([name, number]) => [name, this.thumbnail(clip, number * frame)]);
            // The recording that contains the frame may not be listed yet; then it is searched for again with the next
            // report.
            this.isMissing = addresses.some(([, address]) => address === null);
            for (const [name, address] of addresses) this.images[name].show(address);
        }, isOther ? 0 : rest);
    }
}
