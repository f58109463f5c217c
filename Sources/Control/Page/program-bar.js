// SPDX-License-Identifier: Apache-2.0
// The bar of a program: layouts, scenes by name, and the transition with its length, easing and way.

import { copy, enable, KeyedList, onPress, partsOf, Radios, setAttribute, setShown, setText } from "./dom.js";
import { families, familyOf, lengthAfter, lengthOf, typeOf } from "./scenes.js";

export class ProgramBar {
    /** `layout(layout)`, `scene(name)` and `transition(transition)` ask for what is chosen, and return promises. */
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
        for (const name of ["shorter", "longer"]) {
            onPress(parts[name], () => this.#ask((now) => ({ seconds: lengthAfter(lengthOf(now), name === "longer") })),
                failed);
        }
        this.scenes = new KeyedList(parts.scenes, () => new SceneButton(scene, failed));
    }

    /** Asks for the transition that is set, changed. */
    #ask(change) { return this.transition((now) => ({ ...now, ...change(now) })); }

    update({ preview, previewName, transition, scenes }) {
        const { parts } = this;
        const { family, way } = familyOf(transition.type);
        this.layouts.show(preview.layout);
        this.families.show(family);
        const isCut = family === "cut";
        for (const [name, radios] of this.ways) {
            const isShown = waysOf[name].includes(family);
            setShown(parts[`ways-${name}`], isShown);
            if (isShown) radios.show(way);
        }
        // It keeps its room, so that nothing moves.
        parts.ways.classList.toggle("away", families[family] === undefined);
        this.easings.show(isCut ? null : transition.easing ?? "linear", !isCut, "A cut has no length");
        const seconds = lengthOf(transition);
        setText(parts.length, isCut ? "–" : `${seconds.toFixed(1)} s`);
        enable(parts.shorter, !isCut && seconds > 0, isCut ? "A cut has no length" : "It cannot be shorter");
        enable(parts.longer, !isCut && seconds < 5, isCut ? "A cut has no length" : "It cannot be longer");
        setShown(parts["scenes-group"], scenes.length > 0);
        this.scenes.show(scenes.map((name) => ({ name, isChosen: name === previewName })), ({ name }) => name);
    }
}

/** Which families go by which group of ways. */
const waysOf = { sides: ["slide", "push", "wipe"], depth: ["zoom"], axes: ["flip"] };

class SceneButton {
    constructor(choose, failed) {
        this.root = copy("t-scene");
        this.parts = partsOf(this.root);
        onPress(this.parts.choose, () => choose(this.name), failed);
    }

    update({ name, isChosen }) {
        this.name = name;
        setText(this.parts.name, name);
        setAttribute(this.parts.choose, "aria-label", `Scene ${name} to the preview`);
        setAttribute(this.parts.choose, "aria-pressed", String(isChosen));
        enable(this.parts.choose);
    }
}
