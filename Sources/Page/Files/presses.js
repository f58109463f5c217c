// SPDX-License-Identifier: Apache-2.0
// A press of a clip's button and its release. Both say which frame they mean, so that they can be sent again, as they
// are, until relay has answered: an answer that is lost or late changes nothing of the clip.

import { channelPath, Failure, post } from "./api.js";

/** Milliseconds from one try to the next: twice as many each time, up to the longest. */
const pause = { first: 250, longest: 5000 };
/** An hour in milliseconds: a clip that nobody ended ends by itself then. */
const patience = 3600000;

/** A name for a clip, so that its end can be asked for before its beginning was answered. */
const freshID = () => [...crypto.getRandomValues(new Uint8Array(10))].map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");

export class Press {
    /** Presses on `channel`, whatever channel is shown later. `start` is what the API takes besides the clip's name, or
     * has `told` in place of `at`, about when it is, if that is known: what is sent again names it.
     * `troubled(problem)` is told of each try that relay did not answer. */
    constructor(channel, start, troubled = () => {}) {
        const id = freshID();
        Object.assign(this, { path: (rest) => channelPath(channel, `/clips${rest}`), id, troubled });
        /** Resolves to the clip when relay has taken the press, and rejects if it refused it. */
        this.taken = insist(this.path(""), { id, ...start }, troubled);
        this.taken.catch(() => {});
    }

    /** Releases it with the frame that `now` names, once: relay keeps a release that comes before its press, but not for
     * ever, so that it is sent behind it. */
    end(now) {
        const asked = performance.now();
        this.ended ??= this.taken.then(() => insist(this.path(`/${this.id}/stop`), now, this.troubled,
            performance.now() - asked > pause.first));
        return this.ended;
    }

    /** Releases it while the page goes away, which waits for nothing. */
    leave(now) {
        if (this.ended) return;
        this.end(now).catch(() => {});
        post(this.path(`/${this.id}/stop`), bodyOf(now), { isKept: true }).catch(() => {});
    }
}

/** What the API takes of `body`, which is sent later than it was meant if it `isAgain`. */
function bodyOf({ told, ...body }, isAgain = false) {
    return isAgain && body.at === undefined && typeof told === "number" ? { ...body, at: told } : body;
}

/** Sends a request again until relay answers that it did it, or why it will not. It comes late from the first time on if it
 * `isAgain`. */
async function insist(path, body, troubled, isAgain = false) {
    const begin = performance.now();
    for (let rest = pause.first; ; rest = Math.min(pause.longest, rest * 2)) {
        try {
            return await post(path, bodyOf(body, isAgain), { isKept: true });
        } catch (problem) {
            const isOpen = problem instanceof Failure && (problem.status === 0 || problem.status >= 500);
            if (!isOpen || performance.now() - begin > patience) throw problem;
            troubled(problem);
            isAgain = true;
        }
        await new Promise((resolve) => setTimeout(resolve, rest));
    }
}
