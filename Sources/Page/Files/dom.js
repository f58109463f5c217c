// SPDX-License-Identifier: Apache-2.0
// Small tools for the document. All of them write into existing nodes: a node that has focus is never replaced.

export const byID = (id) => document.getElementById(id);

/** The elements with `data-part` inside `root`, by name. */
export function partsOf(root) {
    const parts = {};
    for (const node of root.querySelectorAll("[data-part]")) parts[node.dataset.part] ??= node;
    return parts;
}

/** A copy of the only element of a template. */
export const copy = (id) => byID(id).content.firstElementChild.cloneNode(true);

export function setText(node, value) {
    const text = value ?? "";
    if (node.textContent !== text) node.textContent = text;
}

/** Sets an attribute, or removes it for null. */
export function setAttribute(node, name, value) {
    if (value === null) {
        if (node.hasAttribute(name)) node.removeAttribute(name);
    } else if (node.getAttribute(name) !== String(value)) {
        node.setAttribute(name, value);
    }
}

export function setShown(node, isShown) {
    if (node.hidden === isShown) node.hidden = !isShown;
}

/** Sets a custom property through the object model, because the security policy forbids style attributes. */
export function setProperty(node, name, value) {
    if (node.style.getPropertyValue(name) !== String(value)) node.style.setProperty(name, value);
}

export const setIcon = (use, name) => setAttribute(use, "href", `#i-${name}`);

/** Whether keyboard focus is on or in `node`. */
export const holdsFocus = (node) => node.contains(document.activeElement);

/** A list in which each node belongs to a key. Nodes are made once, updated in place, and moved only if their order
 * changes. */
export class KeyedList {
    /** `make()` returns a view with `root` and `update(item)`. */
    constructor(parent, make) {
        this.parent = parent;
        this.make = make;
        this.views = new Map();
    }

    /** Shows `items`; `key(item)` returns the key of an item. */
    show(items, key) {
        const present = new Set(items.map(key));
        for (const [name, view] of this.views) {
            if (present.has(name)) continue;
            view.root.remove();
            this.views.delete(name);
        }
        let place = this.parent.firstElementChild;
        for (const item of items) {
            const name = key(item);
            let view = this.views.get(name);
            if (!view) this.views.set(name, view = this.make(item));
            view.update(item);
            if (view.root === place) place = place.nextElementSibling;
            else this.#move(view.root, place);
        }
    }

    get(name) { return this.views.get(name); }

    /** Moves a node. `moveBefore` keeps focus; in a browser without it, a node that has focus is not moved. */
    #move(root, place) {
        if (root.parentNode === this.parent && this.parent.moveBefore) this.parent.moveBefore(root, place);
        else if (!(root.parentNode === this.parent && holdsFocus(root))) this.parent.insertBefore(root, place);
    }
}

// ---- Enabling of buttons ----

/** The reason why no button may be pressed now; empty if buttons may be pressed. */
let blockedBecause = "";
export const isBlocked = () => blockedBecause !== "";
export function block(reason) { blockedBecause = reason; }

/** Enables or disables a button. `aria-disabled` is used in place of `disabled`, so that the button stays reachable
 * and can show the reason. */
export function enable(button, isEnabled = true, why = "") {
    const reason = blockedBecause || (isEnabled ? "" : why || "Not now");
    setAttribute(button, "aria-disabled", reason ? "true" : null);
    if (button.dataset.title === undefined) button.dataset.title = button.getAttribute("title") ?? "";
    setAttribute(button, "title", reason || button.dataset.title || null);
}

/** Connects a button to its action: the action runs once for each press, the button shows "Asked" until it is done,
 * and the result is announced.
 *
 * `work()` returns text for the polite live region, or nothing; an error that it throws is shown in `failed` (an
 * element or a function that returns one). */
export function onPress(button, work, failed) {
    button.addEventListener("click", () => press(button, work, failed));
}

export async function press(button, work, failed) {
    if (button.getAttribute("aria-disabled") === "true" || button.getAttribute("aria-busy") === "true") return;
    const place = typeof failed === "function" ? failed() : failed;
    if (place) setShown(place, false);
    const label = button.querySelector("[data-label]");
    const words = label?.textContent;
    const begin = setTimeout(() => {
        if (!label) return;
        button.style.minWidth = `${button.offsetWidth}px`;
        label.textContent = "Asked…";
    }, 150);
    button.setAttribute("aria-busy", "true");
    try {
        const answer = await work();
        if (answer) announce(answer);
    } catch (problem) {
        showFailure(place, problem);
    } finally {
        clearTimeout(begin);
        button.removeAttribute("aria-busy");
        button.style.minWidth = "";
        if (label?.textContent === "Asked…") label.textContent = words;
    }
}

/** Shows why an action failed next to the control that started it; the other content stays. */
export function showFailure(place, problem) {
    const words = problem?.words ?? "This page made a mistake. The browser's console has more.";
    if (!problem?.words) console.error(problem);
    if (place) {
        setText(place, words);
        setShown(place, true);
    }
    announce(words);
}

/** A question in place of other content, with focus on the button that changes nothing. */
export class Question {
    /** `parts` has `ask`, `ask-text`, `keep` and `sure`; `hidden` is hidden while the question is open. */
    constructor(parts, { hidden, failed } = {}) {
        Object.assign(this, { parts, hidden, failed, opener: null, work: null });
        parts.keep.addEventListener("click", () => this.close());
        parts.ask.addEventListener("keydown", (event) => {
            if (event.key !== "Escape") return;
            event.stopPropagation();
            this.close();
        });
        onPress(parts.sure, async () => {
            const words = await this.work();
            this.close();
            return words;
        }, failed);
    }

    get isOpen() { return !this.parts.ask.hidden; }

    /** Asks the question `text`; `work` runs if the user confirms it. */
    open(opener, text, work) {
        Object.assign(this, { opener, work });
        setText(this.parts["ask-text"], text);
        setShown(this.parts.ask, true);
        if (this.hidden) setShown(this.hidden, false);
        this.parts.keep.focus();
        announce(text);
    }

    close() {
        const had = holdsFocus(this.parts.ask);
        setShown(this.parts.ask, false);
        if (this.hidden) setShown(this.hidden, true);
        if (had && this.opener?.isConnected) this.opener.focus({ preventScroll: true });
    }
}

// ---- Live regions ----

/** Announces text in the polite live region, or in the assertive one if `isUrgent`. */
export function announce(words, isUrgent = false) {
    const region = byID(isUrgent ? "assertive" : "polite");
    region.textContent = "";
    setTimeout(() => { region.textContent = words; }, 30);
}

// ---- Popovers and choices ----

/** A small dialog below its button. Escape, or a click elsewhere, closes the dialog. */
export class Popover {
    constructor(button, root, beforeOpening = () => {}) {
        Object.assign(this, { button, root, beforeOpening });
        button.addEventListener("click", () => (root.hidden ? this.open() : this.close()));
        document.addEventListener("keydown",
            (event) => { if (event.key === "Escape" && !root.hidden) this.close(true); });
        document.addEventListener("pointerdown", (event) => {
            if (!root.hidden && !root.contains(event.target) && !button.contains(event.target)) this.close();
        });
    }

    open() {
        this.beforeOpening();
        const place = this.button.getBoundingClientRect();
        setShown(this.root, true);
        const width = this.root.offsetWidth;
        this.root.style.top = `${place.bottom + scrollY + 6}px`;
        this.root.style.left = `${Math.max(8, Math.min(place.left, document.documentElement.clientWidth - width - 8))}px`;
        this.button.setAttribute("aria-expanded", "true");
        this.root.querySelector("button, input")?.focus();
    }

    close(returnsFocus = false) {
        const had = holdsFocus(this.root);
        setShown(this.root, false);
        this.button.setAttribute("aria-expanded", "false");
        if (returnsFocus || had) this.button.focus();
    }
}

/** Buttons of which one is selected: `role="radio"` with `data-value`. Arrow keys move between them. */
export class Radios {
    /** `choose(value)` requests a selection and returns a promise; an error that it throws is shown in `failed`. */
    constructor(root, choose, failed) {
        this.buttons = [...root.querySelectorAll("[role=radio]")];
        for (const button of this.buttons) onPress(button, () => choose(button.dataset.value), failed);
        root.addEventListener("keydown", (event) => this.#arrows(event, choose, failed));
    }

    /** Shows which value is selected; null means that no value is. */
    show(value, isEnabled = true, why = "") {
        const chosen = this.buttons.find((button) => button.dataset.value === value);
        for (const button of this.buttons) {
            setAttribute(button, "aria-checked", String(button === chosen));
            if (!holdsFocus(button)) button.tabIndex = button === (chosen ?? this.buttons[0]) ? 0 : -1;
            enable(button, isEnabled, why);
        }
    }

    #arrows(event, choose, failed) {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        const index = this.buttons.findIndex(holdsFocus);
        const next = this.buttons[(index + step + this.buttons.length) % this.buttons.length];
        next.tabIndex = 0;
        next.focus();
        press(next, () => choose(next.dataset.value), failed);
    }
}
