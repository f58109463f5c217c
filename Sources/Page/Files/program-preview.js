// SPDX-License-Identifier: Apache-2.0
// The preview of a program, composed in the browser from snapshots of the sources. The inset is moved and resized by
// pointer and by keys; a tap swaps it with the main source.

import { enable, setAttribute, setProperty, setShown, setText } from "./dom.js";
import { drawPlaceholder } from "./snapshots.js";
import { insetOf, moved, overlayWords, placements, resized, sceneWords, stepped } from "./scenes.js";

/** The width of an inset's border and the radius of its corners, as fractions of the frame's height. */
const [border, radius] = [1 / 360, 1 / 60];
/** A pointer movement of fewer pixels counts as a tap. */
const tap = 6;
/** The size in pixels of the lower right corner that resizes the inset: for a mouse, and for a finger. */
const corner = { mouse: 20, touch: 32 };
const percent = (part) => Math.round(part * 100);

export class ProgramPreview {
    /** `place(inset)` requests another place of the inset and returns a promise of whether relay accepted it;
     * `swap()` requests the exchange of the two sources. */
    constructor(parts, snapshots, { place, swap }) {
        Object.assign(this, { parts, snapshots, place, swap });
        this.context = parts.preview.getContext("2d");
        this.draft = null;
        this.#wire();
    }

    #wire() {
        const { inset } = this.parts;
        inset.addEventListener("pointerdown", (event) => this.#begin(event));
        inset.addEventListener("pointermove", (event) => this.#drag(event));
        inset.addEventListener("pointerup", () => this.#end(true));
        inset.addEventListener("pointercancel", () => this.#end(false));
        inset.addEventListener("keydown", (event) => this.#key(event));
    }

    /** Shows the preview of a report, in a frame of this aspect ratio (width by height). */
    update(report, ratio) {
        Object.assign(this, { report, ratio });
        const stageRatio = 16 / 9;
        setProperty(this.parts.frame, "--fw", `${(Math.min(1, ratio / stageRatio) * 100).toFixed(3)}%`);
        setProperty(this.parts.frame, "--fh", `${(Math.min(1, stageRatio / ratio) * 100).toFixed(3)}%`);
        const words = [sceneWords(report.preview, report.previewName), overlayWords(report.preview)].filter(Boolean)
            .join(" · ");
        setText(this.parts["preview-name"], words);
        setAttribute(this.parts.preview, "aria-label", `Preview: ${words}`);
        this.#inset();
        this.redraw();
    }

    reset() {
        Object.assign(this, { draft: null, drag: null, report: null });
        this.context.clearRect(0, 0, this.parts.preview.width, this.parts.preview.height);
    }

    /** The scene that the preview shows; an inset that is being dragged is at its present place. */
    get scene() {
        const { preview } = this.report;
        return this.draft && preview.layout === "pip" ? { ...preview, inset: this.draft } : preview;
    }

    #inset() {
        const { parts, scene } = this;
        const isPip = scene.layout === "pip";
        setShown(parts.inset, isPip);
        const { x, y, width } = insetOf(scene);
        const words = `inset ${percent(width)} % wide · x ${percent(x)} · y ${percent(y)}`;
        setText(parts["inset-words"], isPip ? words : "");
        if (!isPip) return;
        for (const [name, value] of Object.entries({ x, y, width })) {
            setProperty(parts.inset, `--${name}`, value.toFixed(5));
        }
        setAttribute(parts.inset, "aria-label", `Inset ${scene.sources[1]}, ${percent(width)} percent wide, `
            + `${percent(x)} from the left, ${percent(y)} from the top. Arrows move, with Shift resize, S swaps.`);
        enable(parts.inset);
    }

    // ---- Moving the inset ----

    get #isFree() { return this.parts.inset.getAttribute("aria-disabled") !== "true"; }

    #begin(event) {
        if (event.button !== 0 || !this.#isFree) return;
        const { inset, frame } = this.parts;
        const box = inset.getBoundingClientRect();
        const near = corner[event.pointerType === "touch" ? "touch" : "mouse"];
        this.drag = {
            x: event.clientX, y: event.clientY, frame: frame.getBoundingClientRect(), from: insetOf(this.scene), far: 0,
            resizes: event.clientX > box.right - near && event.clientY > box.bottom - near,
        };
        inset.setPointerCapture(event.pointerId);
        event.preventDefault();
    }

    #drag(event) {
        const { drag } = this;
        if (!drag) return;
        const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
        drag.far = Math.max(drag.far, Math.hypot(dx, dy));
        if (drag.far < tap) return;
        const [right, down] = [dx / drag.frame.width, dy / drag.frame.height];
        this.#ask(drag.resizes ? resized(drag.from, drag.from.width + Math.max(right, down))
            : moved(drag.from, drag.from.x + right, drag.from.y + down));
    }

    #end(isDone) {
        const { drag } = this;
        this.drag = null;
        this.parts.inset.blur();
        if (drag && isDone && drag.far < tap && !drag.resizes) this.swap();
    }

    #key(event) {
        if (event.ctrlKey || event.metaKey || event.altKey || !this.#isFree) return;
        if (event.key === " " || event.key === "Enter") {
            event.preventDefault();
            if (!event.repeat) this.swap();
        } else if (event.key.startsWith("Arrow")) {
            event.preventDefault();
            this.#ask(stepped(insetOf(this.scene), event.key, event.shiftKey));
        }
    }

    /** Requests a place, one request at a time: while an answer is awaited, only the newest place is kept for the
     * next request. Until the answer arrives, the requested place is shown; then the one in relay's reports. */
    async #ask(inset) {
        this.draft = inset;
        this.#inset();
        this.redraw();
        if (this.isAsking) return;
        this.isAsking = true;
        try {
            for (let asked = null; asked !== this.draft && this.draft;) {
                asked = this.draft;
                if (!await this.place(asked)) break;
            }
        } finally {
            Object.assign(this, { isAsking: false, draft: null });
            if (this.report) this.update(this.report, this.ratio);
        }
    }

    // ---- Drawing ----

    /** Draws the preview with the screen's next frame. */
    redraw() {
        if (this.isDue) return;
        this.isDue = true;
        requestAnimationFrame(() => {
            this.isDue = false;
            if (this.report) this.#draw();
        });
    }

    /** The width in pixels at which a source is drawn here; 0 if it is not visible. */
    widthOf(name) {
        const index = this.scene.sources.indexOf(name);
        if (index < 0) return 0;
        const place = placements(this.scene)[index];
        // A cropped source is drawn wider than its part of the frame.
        const part = Math.max(place.width, place.height);
        return part * this.parts.frame.clientWidth * Math.min(2, devicePixelRatio);
    }

    #draw() {
        const { context, scene, ratio } = this;
        const { canvas } = context;
        const width = Math.min(1280, Math.round(this.parts.frame.clientWidth * Math.min(2, devicePixelRatio)));
        const height = Math.round(width / ratio);
        if (!width) return;
        if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
        context.fillStyle = "#000";
        context.fillRect(0, 0, width, height);
        if (scene.layout === "slate") drawPlaceholder(context, { x: 0, y: 0, width, height }, "Slate");
        placements(scene).forEach((place, index) => {
            const box = {
                x: place.x * width, y: place.y * height, width: place.width * width, height: place.height * height,
            };
            if (place.isInset) this.#drawInset(box, scene.sources[index]);
            else this.#drawSource(box, scene.sources[index], place.fits);
        });
    }

    #drawInset(box, name) {
        const { context } = this;
        const height = context.canvas.height;
        context.save();
        context.beginPath();
        context.roundRect(box.x, box.y, box.width, box.height, height * radius);
        context.clip();
        this.#drawSource(box, name, true);
        // The outer half of the line is cut off by the clipping region, so the line is drawn twice as wide.
        Object.assign(context, { lineWidth: Math.max(1, height * border) * 2, strokeStyle: "#fff" });
        context.stroke();
        context.restore();
    }

    /** Draws a source's snapshot into a box: completely if it `fits`, otherwise cropped to its middle. */
    #drawSource(box, name, fits) {
        const { context } = this;
        const snapshot = this.snapshots.get(name);
        if (!snapshot) return drawPlaceholder(context, box, name);
        const scales = [box.width / snapshot.width, box.height / snapshot.height];
        const scale = fits ? Math.min(...scales) : Math.max(...scales);
        const [width, height] = [snapshot.width * scale, snapshot.height * scale];
        context.save();
        context.beginPath();
        context.rect(box.x, box.y, box.width, box.height);
        context.clip();
        context.fillStyle = "#000";
        context.fillRect(box.x, box.y, box.width, box.height);
        context.drawImage(snapshot, box.x + (box.width - width) / 2, box.y + (box.height - height) / 2, width, height);
        context.restore();
        return undefined;
    }
}
