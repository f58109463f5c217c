// SPDX-License-Identifier: Apache-2.0
// A press of a clip's button and its release. Both requests name their frame, so that they can be repeated unchanged
// until relay has answered: an answer that is lost or late does not change the clip.

import { channelPath, Failure, post } from "./api.js";

/** Milliseconds between two attempts: doubled after each attempt, up to the longest. */
const pause = { first: 250, longest: 5000 };
/** One hour in milliseconds, after which relay ends a clip whose end was not requested. */
const patience = 3600000;

/** An id for a clip, chosen here so that the end of the clip can be requested before its start was confirmed. */
const freshID = () => [...crypto.getRandomValues(new Uint8Array(10))].map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");

export class Press {
    /** Begins a clip on `channel`, even if another channel is shown later. `start` contains the parameters of the API
     * except the clip's id; in place of `at` it may have `told`, the approximate program time, which is sent only when
     * the request is repeated. `troubled(problem)` is called for each attempt that relay did not answer. */
    constructor(channel, start, troubled = () => {}) {
        const id = freshID();
        Object.assign(this, { path: (rest) => channelPath(channel, `/clips${rest}`), id, troubled });
        /** Resolves to the clip when relay has accepted the press, and rejects if relay refused it. */
        this.taken = insist(this.path(""), { id, ...start }, troubled);
        this.taken.catch(() => {});
    }

    /** Ends the clip with the frame that `now` names; only the first call has an effect. relay keeps a release that
     * arrives before its press only for a limited time, so the release is sent after the press was answered. */
    end(now) {
        const asked = performance.now();
        this.ended ??= this.taken.then(() => insist(this.path(`/${this.id}/stop`), now, this.troubled,
            performance.now() - asked > pause.first));
        return this.ended;
    }

    /** Ends the clip when the page is closed, without waiting for the press to be answered. */
    leave(now) {
        if (this.ended) return;
        this.end(now).catch(() => {});
        post(this.path(`/${this.id}/stop`), bodyOf(now), { isKept: true }).catch(() => {});
    }
}

/** The request body for `body`; `isAgain` means that the request is sent later than the press. */
function bodyOf({ told, ...body }, isAgain = false) {
    return isAgain && body.at === undefined && typeof told === "number" ? { ...body, at: told } : body;
}

/** Repeats a request until relay answers that it was done, or why it is refused. If `isAgain`, even the first attempt
 * counts as late. */
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
