// SPDX-License-Identifier: Apache-2.0
// The overlays of a program, images or texts: each can be shown or hidden in all scenes, or left to the scenes, and its
// text can be changed.

import { put } from "./api.js";
import { copy, enable, holdsFocus, KeyedList, onPress, partsOf, setAttribute, setIcon, setShown, setText }
    from "./dom.js";

/** Seconds that an overlay takes to fade in or out when a button of the page is pressed. */
const seconds = 0.5;

export class ProgramOverlays {
    /** `parts` has `overlays-group` and `overlays`. */
    constructor(parts, feed, failed) {
        Object.assign(this, { parts, feed });
        this.list = new KeyedList(parts.overlays, () => new OverlayControl(
            (name, change) => this.#change(name, change), failed));
    }

    async #change(name, change) {
        const { frame } = await this.feed.change(() => put(
            this.feed.path(`/overlays/${encodeURIComponent(name)}`), change));
        return `${name}, from frame ${frame} on`;
    }

    update({ overlays }) {
        setShown(this.parts["overlays-group"], overlays.length > 0);
        this.list.show(overlays, ({ name }) => name);
    }
}

class OverlayControl {
    /** `change(name, change)` requests a change, and returns a promise of text to announce. */
    constructor(change, failed) {
        this.root = copy("t-overlay");
        this.parts = partsOf(this.root);
        const { parts } = this;
        onPress(parts.show, () => change(this.overlay.name, { visible: !this.overlay.isSeen, seconds }), failed);
        onPress(parts.release, () => change(this.overlay.name, { visible: null, seconds }), failed);
        onPress(parts.set, () => change(this.overlay.name, { text: parts.text.value.trim() }), failed);
        parts.form.addEventListener("submit", (event) => {
            event.preventDefault();
            parts.set.click();
        });
        parts.text.addEventListener("keydown", (event) => {
            if (event.key !== "Escape") return;
            parts.text.value = this.overlay.text;
            this.#words();
        });
        parts.text.addEventListener("input", () => this.#words());
    }

    update(overlay) {
        const { parts } = this;
        const before = this.overlay?.text;
        this.overlay = overlay;
        const { name, text, isSeen, visible } = overlay;
        setText(parts.name, name);
        setAttribute(parts.show, "aria-pressed", String(isSeen));
        setAttribute(parts.show, "aria-label", `Overlay ${name}`);
        setIcon(parts.icon, isSeen ? "eye" : "cover");
        enable(parts.show);
        setShown(parts.release, visible !== undefined);
        setAttribute(parts.release, "aria-label", `Leave ${name} to the scenes`);
        enable(parts.release);
        setShown(parts.form, text !== undefined);
        if (text === undefined) return;
        setAttribute(parts.form, "aria-label", `Overlay ${name}`);
        setAttribute(parts.text, "aria-label", `Words of ${name}`);
        // Text that the user is editing is not overwritten.
        if (before === undefined || (parts.text.value === before && !holdsFocus(parts.text))) parts.text.value = text;
        this.#words();
    }

    /** The text can be sent if it was changed here and not sent yet. */
    #words() {
        const { parts, overlay } = this;
        const written = parts.text.value.trim();
        setShown(parts.set, written !== overlay.text);
        enable(parts.set, written !== "", "An overlay without words is hidden instead");
    }
}
