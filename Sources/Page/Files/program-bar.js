// SPDX-License-Identifier: Apache-2.0
// The bar of a program: layouts, scenes by name, and the transition with its duration, easing and direction.

import { copy, enable, holdsFocus, isBlocked, KeyedList, onPress, partsOf, press, Radios, setAttribute, setShown, setText }
    from "./dom.js";
import { colorWords, families, familyOf, lengthAfter, lengthOf, typeOf, usualColor } from "./scenes.js";

export class ProgramBar {
    /** `layout(layout)`, `scene(name)` and `transition(transition)` request the selected value, and return promises. */
    constructor(parts, { layout, scene, transition }) {
        Object.assign(this, { parts, transition });
        const { failed } = parts;
        this.layouts = new Radios(parts.layouts, layout, failed);
        this.families = new Radios(parts.families, (family) => this.#ask((now) => ({
            type: typeOf(family, familyOf(now.type).way ?? ""),
        })), failed);
        this.ways = new Map(Object.keys(waysOf).map((name) => [name, new Radios(parts[`ways-${name}`],
            (way) => this.#ask((now) => ({ type: typeOf(familyOf(now.type).family, way) })), failed)]));
        this.easings = new Radios(parts.easings, (easing) => this.#ask(() => ({ easing })), failed);
        // `change` is sent when a color is selected, `input` while the user moves through colors.
        parts.color.addEventListener("change", () => press(parts.color, () => this.#ask(() => ({
            color: parts.color.value })), failed));
        for (const name of ["shorter", "longer"]) {
            onPress(parts[name], () => this.#ask((now) => ({ seconds: lengthAfter(lengthOf(now), name === "longer") })),
                failed);
        }
        this.scenes = new KeyedList(parts.scenes, () => new NameButton("Scene", scene, failed));
        this.stingers = new KeyedList(parts.stingers, () => new NameButton("Stinger",
            (name) => transition(() => ({ type: "stinger", name })), failed));
    }

    /** Requests the selected transition with a change. */
    #ask(change) {
        return this.transition(({ name, ...now }) => {
            const { color, ...next } = { ...now, ...change(now) };
            return colorWords(next.type) && color ? { ...next, color } : next;
        });
    }

    update({ preview, previewName, transition, scenes, stingers, overlays }) {
        const { parts } = this;
        const { family, way } = familyOf(transition.type);
        this.layouts.show(preview.layout);
        this.families.show(family);
        const why = { cut: "A cut has no length", stinger: "A stinger is as long as it is" }[family];
        const isFixed = why !== undefined;
        for (const [name, radios] of this.ways) {
            const isShown = waysOf[name].includes(family);
            setShown(parts[`ways-${name}`], isShown);
            if (isShown) radios.show(way);
        }
        // The element is hidden but keeps its space, so that the layout of the page does not change.
        parts.ways.classList.toggle("away", families[family] === undefined);
        setShown(parts["color-field"], colorWords(transition.type) !== "");
        setText(parts["color-words"], colorWords(transition.type));
        enable(parts.color);
        parts.color.disabled = isBlocked();
        if (!holdsFocus(parts.color)) parts.color.value = transition.color ?? usualColor;
        this.easings.show(isFixed ? null : transition.easing ?? "linear", !isFixed, why);
        const seconds = lengthOf(transition);
        setText(parts.length, isFixed ? "–" : `${seconds.toFixed(1)} s`);
        enable(parts.shorter, !isFixed && seconds > 0, why ?? "It cannot be shorter");
        enable(parts.longer, !isFixed && seconds < 5, why ?? "It cannot be longer");
        setShown(parts["scenes-group"], scenes.length > 0);
        this.scenes.show(scenes.map((name) => ({ name, isChosen: name === previewName })), ({ name }) => name);
        setShown(parts.extras, stingers.length + overlays.length > 0);
        setShown(parts["stingers-group"], stingers.length > 0);
        const stinger = family === "stinger" ? transition.name : null;
        this.stingers.show(stingers.map((name) => ({ name, isChosen: name === stinger })), ({ name }) => name);
    }
}

/** The families of transitions that have the same group of directions. */
const waysOf = { sides: ["slide", "push", "wipe"], depth: ["zoom"], axes: ["flip"] };

/** A button for a scene or a stinger, which have names. */
class NameButton {
    constructor(kind, choose, failed) {
        this.kind = kind;
        this.root = copy("t-scene");
        this.parts = partsOf(this.root);
        onPress(this.parts.choose, () => choose(this.name), failed);
    }

    update({ name, isChosen }) {
        this.name = name;
        setText(this.parts.name, name);
        setAttribute(this.parts.choose, "aria-label",
            this.kind === "Scene" ? `Scene ${name} to the preview` : `Stinger ${name} as the transition`);
        setAttribute(this.parts.choose, "aria-pressed", String(isChosen));
        enable(this.parts.choose);
    }
}
