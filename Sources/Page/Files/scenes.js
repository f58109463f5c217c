// SPDX-License-Identifier: Apache-2.0
// Scenes as values: their description as text, the places of their sources, and the conversion between scenes. Pure
// functions.

export const standardInset = { x: 0.725, y: 0.725, width: 0.25 };
/** An inset's margin from the frame's edges, which is also the step of its keys, as a fraction of the frame. */
const margin = 1 / 40;
/** The distance within which an inset that is dragged snaps to a line. */
const reach = 0.012;
const narrowest = 0.05;
/** The number of sources with which a grid begins, and the most that it can show. */
const grid = { first: 4, most: 9 };

export const slate = { layout: "slate", sources: [] };
export const insetOf = (scene) => scene.inset ?? standardInset;

/** The name of the scene, or a description such as `Wide with Guest`. */
export function sceneWords(scene, name) {
    const [one, two] = scene.sources;
    const words = {
        slate: "Slate", single: one, pip: `${one} with ${two}`, "split-horizontal": `${one} beside ${two}`,
        "split-vertical": `${one} above ${two}`,
    }[scene.layout] ?? scene.sources.join(", ");
    return name ? `${name} · ${words}` : words;
}

/** A description such as `Title, Logo over it`; empty if the scene has no overlays. */
export const overlayWords = ({ overlays }) => (overlays?.length ? `${overlays.join(", ")} over it` : "");

/** The place of each source, in the order of `sources`, as fractions of the frame. */
export function placements(scene) {
    const fits = scene.fit === "contain";
    switch (scene.layout) {
    case "slate": return [];
    case "pip": {
        const { x, y, width } = insetOf(scene);
        return [{ x: 0, y: 0, width: 1, height: 1, fits: true }, { x, y, width, height: width, fits: true,
            isInset: true }];
    }
    case "split-horizontal": return [0, 0.5].map((x) => ({ x, y: 0, width: 0.5, height: 1, fits }));
    case "split-vertical": return [0, 0.5].map((y) => ({ x: 0, y, width: 1, height: 0.5, fits }));
    case "grid": {
        const columns = scene.sources.length <= 1 ? 1 : scene.sources.length <= 4 ? 2 : 3;
        const rows = Math.ceil(scene.sources.length / columns);
        return scene.sources.map((_, index) => ({
            x: (index % columns) / columns, y: (Math.floor(index / columns) + (columns - rows) / 2) / columns,
            width: 1 / columns, height: 1 / columns, fits: true,
        }));
    }
    default: return [{ x: 0, y: 0, width: 1, height: 1, fits: true }];
    }
}

/** `scene` in another layout: its sources are kept, and free places are filled with other sources. */
export function inLayout(scene, layout, names) {
    if (scene.layout === layout) return scene;
    const all = [...scene.sources, ...names.filter((name) => !scene.sources.includes(name))];
    const number = { single: 1, grid: Math.max(grid.first, scene.sources.length) }[layout] ?? 2;
    return { ...kept(scene, layout), layout, sources: all.slice(0, number) };
}

/** The details of a scene that another layout keeps; overlays are always kept. */
function kept(scene, layout) {
    const { inset, fit, overlays } = scene;
    return { ...(layout === "pip" && inset ? { inset } : {}), ...(layout.startsWith("split") && fit ? { fit } : {}),
        ...(overlays ? { overlays } : {}) };
}

/** `scene` after a source was selected: as its main source, or, in a grid, added or removed. */
export function choosing(scene, name) {
    const { sources } = scene;
    if (scene.layout === "grid") {
        const isIn = sources.includes(name);
        if (isIn && sources.length > 1) return { ...scene, sources: sources.filter((other) => other !== name) };
        return isIn || sources.length >= grid.most ? scene : { ...scene, sources: [...sources, name] };
    }
    if (scene.layout === "single" || scene.layout === "slate") {
        return { ...kept(scene, "single"), layout: "single", sources: [name] };
    }
    if (sources[1] === name) return swapped(scene);
    return { ...scene, sources: [name, sources[1]] };
}

export const canSwap = (scene) => scene.sources.length === 2 && scene.layout !== "grid";
export const swapped = (scene) => ({ ...scene, sources: scene.sources.toReversed() });

const within = (value, low, high) => Math.min(high, Math.max(low, value));
const rounded = (value) => Math.round(value * 1e4) / 1e4;

function caught(value, lines) {
    return lines.find((line) => Math.abs(line - value) < reach) ?? value;
}

/** An inset moved to `x` and `y`, limited to the frame; if it `snaps`, it snaps to the margins and the middle. */
export function moved(inset, x, y, snaps = true) {
    const room = 1 - inset.width;
    const place = (value) => rounded(within(snaps ? caught(value, [margin, room / 2, room - margin]) : value, 0, room));
    return { ...inset, x: place(x), y: place(y) };
}

/** An inset of another width, whose upper left corner stays in place. */
export function resized(inset, width, snaps = true) {
    const [right, bottom] = [1 - inset.x, 1 - inset.y];
    const wanted = snaps ? caught(width, [right - margin, bottom - margin]) : width;
    return { ...inset, width: rounded(within(wanted, narrowest, Math.min(right, bottom))) };
}

/** An inset that an arrow key has moved or, if `isResizing`, resized. */
export function stepped(inset, key, isResizing) {
    const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
    if (isResizing) return resized(inset, inset.width + (dx + dy) * margin, false);
    return moved(inset, inset.x + dx * margin, inset.y + dy * margin, false);
}

// ---- Transitions ----

const sides = ["left", "right", "up", "down"];
/** The default color that a dip fades through, and before which a card turns. */
export const usualColor = "#000000";
/** The label of the color in a transition of this type; empty if the type has no color. */
export const colorWords = (type) => ({ dip: "Through", flip: "Before" }[familyOf(type).family] ?? "");

/** The families of transitions, with the directions of each. */
export const families = {
    slide: sides, push: sides, wipe: sides, zoom: ["in", "out"], flip: ["horizontal", "vertical"],
};

/** `slide-left` split into its family and its direction. */
export function familyOf(type) {
    const [family, way] = type.split("-");
    return { family, way };
}

/** The type of a family, with the direction of another transition if the family has it. */
export function typeOf(family, way) {
    const ways = families[family];
    return ways ? `${family}-${ways.includes(way) ? way : ways[0]}` : family;
}

/** The duration of a transition in seconds. */
export const lengthOf = (transition) => (transition.type === "cut" ? 0 : transition.seconds ?? 1);

/** The next longer or shorter duration: in steps of half a second, or of a tenth of a second below one second. */
export function lengthAfter(seconds, isLonger) {
    const step = isLonger ? (seconds < 0.999 ? 0.1 : 0.5) : (seconds <= 1.001 ? 0.1 : 0.5);
    return Number(within(seconds + (isLonger ? step : -step), 0, 5).toFixed(1));
}

/** A description such as `Slide left 1.0 s`. */
export function transitionWords(transition) {
    if (transition.type === "stinger") return `Stinger ${transition.name}`;
    const words = transition.type.replace("-", " ");
    const name = words[0].toUpperCase() + words.slice(1);
    return transition.type === "cut" ? "Cut" : `${name} ${lengthOf(transition).toFixed(1)} s`;
}
