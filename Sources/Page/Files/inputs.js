// SPDX-License-Identifier: Apache-2.0
// The inputs of a channel by their names: which of them are on air, and their problems. Pure functions of a report.

import { sourceWords } from "./words.js";

/** The inputs, each with its name, the source of a program to which it belongs (`part`), whether it is on air, and
 * whether it should be open.
 *
 * A report lists the states of inputs without names. The names are those of the selection, or of each part's
 * selection, in the same order. The only input of a channel has no name. */
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

/** The input for audio without video, which a report lists behind the inputs with names; undefined if no such input exists. */
export function audioInputOf(report) {
    const selections = report.parts ? report.parts.map(({ selection }) => selection) : [report.selection];
    return report.sources?.[selections.reduce((sum, selection) => sum + (selection?.inputs.length ?? 1), 0)];
}

/** The only input on air; undefined if several inputs are on air, or no input is. */
export function inputOnAir(report) {
    const onAir = inputsOf(report).filter(({ isOnAir }) => isOnAir);
    return onAir.length === 1 ? onAir[0] : undefined;
}

/** The name of the input or source that viewers see. */
export function onAirName(report) {
    if (report.parts) return report.parts.filter(({ isOnAir }) => isOnAir).map(({ name }) => name).join(" + ") || "Slate";
    if (report.selection) return report.selection.onAir === "slate" ? "Slate" : report.selection.onAir ?? report.name;
    return report.name;
}

/** The problems of the video or audio on air, for the glance bar and for the alarm. */
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

/** The problems of inputs that are not on air: `{name, words}` of each. */
export function troublesOffAir(report) {
    // A source that is visible, but shows its slate, is listed only once.
    const told = new Set((report.parts ?? []).filter(({ isOnAir, selection }) => isOnAir && selection?.onAir === "slate")
        .map(({ name }) => name));
    // An input that is closed because it is not shown has no problem.
    return inputsOf(report).filter(({ isOnAir, isWanted, part }) => !isOnAir && isWanted && !told.has(part)).flatMap(({ name, part, ...input }) => {
        const words = waitingWords(input);
        return words ? [{ name, words: `${part && part !== name ? `${part}: ` : ""}${name} ${words}` }] : [];
    });
}

/** Why a track that an input should have delivers nothing; empty if it delivers. */
export function waitingWords({ state, lastError, silentTracks }, track = "video") {
    if (state === "running") return silentTracks?.includes(track) ? `sends no ${track}` : "";
    return state === "ended" || (state === "opening" && !lastError) ? "" : sourceWords[state] ?? state;
}

/** The format as text, such as `1080p25`; empty while it is unknown. */
export function formatWords(video) {
    if (!video?.height) return "";
    const rate = video.frameRate ? video.frameRate.numerator / video.frameRate.denominator : 0;
    return `${video.height}p${rate ? Number(rate.toFixed(2)) : ""}`;
}
