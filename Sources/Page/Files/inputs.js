// SPDX-License-Identifier: Apache-2.0
// The inputs of a channel by their names: what is on air of them, and what is wrong with it. Pure functions of a report.

import { sourceWords } from "./words.js";

/** The inputs, each with its name, the source of a program that it belongs to (`part`), whether it is on air, and
 * whether it is to be open.
 *
 * A report has what is known of them as a list without names, which are those of the selection, or of each part's, in
 * the same order. The only input of a channel has none. */
export function inputsOf(report) {
    const inputs = [...(report.sources ?? [])];
    const named = (selection, isSeen, part) => selection.inputs.slice(0, inputs.length).map((name) => ({
        ...inputs.shift(), name, part, isOnAir: isSeen && selection.onAir === name,
        isWanted: selection.open?.includes(name) ?? true,
    }));
    if (report.parts) return report.parts.flatMap(({ name, isOnAir, selection }) => named(
        selection ?? { inputs: [name], onAir: name }, isOnAir, name));
    if (report.selection) return named(report.selection, true);
    return inputs.slice(0, 1).map((input) => ({ ...input, isOnAir: true }));
}

/** The input that is heard and never seen, which a report has behind those with names; undefined without one. */
export function audioInputOf(report) {
    const selections = report.parts ? report.parts.map(({ selection }) => selection) : [report.selection];
    return report.sources?.[selections.reduce((sum, selection) => sum + (selection?.inputs.length ?? 1), 0)];
}

/** The only input on air; undefined if there are several, or none. */
export function inputOnAir(report) {
    const onAir = inputsOf(report).filter(({ isOnAir }) => isOnAir);
    return onAir.length === 1 ? onAir[0] : undefined;
}

/** What viewers see, by its name. */
export function onAirName(report) {
    if (report.parts) return report.parts.filter(({ isOnAir }) => isOnAir).map(({ name }) => name).join(" + ") || "Slate";
    if (report.selection) return report.selection.onAir === "slate" ? "Slate" : report.selection.onAir ?? report.name;
    return report.name;
}

/** What is wrong with the video or audio on air, for the glance and for the alarm. */
export function troublesOnAir(report) {
    const inputs = inputsOf(report).filter(({ isOnAir }) => isOnAir).map(inputTrouble).filter(Boolean);
    if (report.parts) {
        const lost = report.parts.filter(({ isOnAir, selection }) => isOnAir && selection?.onAir === "slate");
        return [...lost.map(({ name }) => ({ name, title: `No video from ${name}`, glance: `${name}: no video`,
            aside: "the slate is shown in its place",
            text: "Viewers see its slate, without audio. It is opened again by itself." })), ...inputs];
    }
    if (report.selection?.onAir !== "slate") return inputs;
    return [{ name: "slate", title: "No source delivers", glance: "No source delivers", aside: "the slate is shown",
        text: "Viewers see the slate. Each source is opened again by itself." }];
}

function inputTrouble({ name, state, framesDecoded, silentTracks }) {
    const trouble = { name: name ?? "source", title: `No video from ${name ?? "the source"}`,
        glance: name === undefined ? "No video comes" : `${name}: no video`, aside: "last frame shown" };
    if (["waiting", "failed", "opening"].includes(state) && framesDecoded > 0) {
        const next = state === "failed" ? "It is not opened again." : "It is opened again by itself.";
        return { ...trouble, text: `Viewers see its last frame, without audio. ${next}` };
    }
    if (!silentTracks?.includes("video")) return null;
    return { ...trouble, text: "Viewers see its last frame. The connection is open, nothing comes." };
}

/** What is wrong with what is not on air: `{name, words}` of each. */
export function troublesOffAir(report) {
    // A source that is seen, and shows its slate, is told of once.
    const told = new Set((report.parts ?? []).filter(({ isOnAir, selection }) => isOnAir && selection?.onAir === "slate")
        .map(({ name }) => name));
    // What is closed as long as it is not shown is as it should be.
    return inputsOf(report).filter(({ isOnAir, isWanted, part }) => !isOnAir && isWanted && !told.has(part)).flatMap(({ name, part, ...input }) => {
        const words = waitingWords(input);
        return words ? [{ name, words: `${part && part !== name ? `${part}: ` : ""}${name} ${words}` }] : [];
    });
}

/** Why nothing comes of a track of an input that should be there; empty if something does. */
export function waitingWords({ state, lastError, silentTracks }, track = "video") {
    if (state === "running") return silentTracks?.includes(track) ? `sends no ${track}` : "";
    return state === "ended" || (state === "opening" && !lastError) ? "" : sourceWords[state] ?? state;
}

/** `1080p25`; empty as long as it is not known. */
export function formatWords(video) {
    if (!video?.height) return "";
    const rate = video.frameRate ? video.frameRate.numerator / video.frameRate.denominator : 0;
    return `${video.height}p${rate ? Number(rate.toFixed(2)) : ""}`;
}
