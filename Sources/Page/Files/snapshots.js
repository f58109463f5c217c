// SPDX-License-Identifier: Apache-2.0
// Snapshots of the sources: the newest frame of each visible source, several times a second, with one request at a time
// for each source.

import { channelPath, urlOf } from "./api.js";

/** Milliseconds between two snapshots of a source, and before the next attempt if relay has no snapshot. */
const pace = { next: 150, absent: 2000 };
/** Milliseconds without a new snapshot after which the last one counts as old. */
const lasts = 3000;

export class Snapshots {
    /** `came(name)` is called for each new snapshot. */
    constructor(came) {
        this.came = came;
        this.wanted = new Map();
        this.known = new Map();
        this.running = new Map();
        document.addEventListener("visibilitychange", () => this.#run());
    }

    /** Requests snapshots of these sources of `channel` from now on: a map of names to widths in pixels. */
    show(channel, wanted) {
        if (channel !== this.channel) this.forget();
        Object.assign(this, { channel, wanted });
        this.#run();
    }

    forget() {
        for (const { bitmap } of this.known.values()) bitmap.close();
        this.known.clear();
        this.wanted = new Map();
        this.channel = null;
    }

    /** The newest snapshot of a source; null if there is no snapshot. */
    get(name) { return this.known.get(name)?.bitmap ?? null; }

    isOld(name) { return performance.now() - (this.known.get(name)?.at ?? -Infinity) > lasts; }

    #run() {
        if (document.hidden) return;
        for (const name of this.wanted.keys()) {
            if (this.running.get(name) !== this.channel) this.#look(name, this.channel);
        }
    }

    async #look(name, channel) {
        const isWanted = () => !document.hidden && this.channel === channel && this.wanted.has(name);
        this.running.set(name, channel);
        while (isWanted()) {
            const begin = performance.now();
            const bitmap = await snapshot(channel, name, this.wanted.get(name)).catch(() => null);
            if (bitmap) this.#take(name, channel, bitmap);
            const rest = (bitmap ? pace.next : pace.absent) - (performance.now() - begin);
            await new Promise((resolve) => setTimeout(resolve, Math.max(10, rest)));
        }
        if (this.running.get(name) === channel) this.running.delete(name);
    }

    #take(name, channel, bitmap) {
        if (this.channel !== channel) return bitmap.close();
        this.known.get(name)?.bitmap.close();
        this.known.set(name, { bitmap, at: performance.now() });
        return this.came(name);
    }
}

async function snapshot(channel, name, width) {
    const path = channelPath(channel, `/sources/${encodeURIComponent(name)}/snapshot.jpg?width=${width}`);
    const answer = await fetch(urlOf(path), { cache: "no-store", signal: AbortSignal.timeout(5000) });
    if (!answer.ok) {
        await answer.body?.cancel();
        return null;
    }
    return createImageBitmap(await answer.blob());
}

/** Draws a placeholder with text in place of a missing snapshot. */
export function drawPlaceholder(context, { x, y, width, height }, words) {
    context.fillStyle = "#171c25";
    context.fillRect(x, y, width, height);
    context.fillStyle = "#aab4c2";
    context.font = `600 ${Math.max(10, Math.round(height / 9))}px system-ui, sans-serif`;
    Object.assign(context, { textAlign: "center", textBaseline: "middle" });
    context.fillText(words, x + width / 2, y + height / 2, width * 0.9);
}
