// SPDX-License-Identifier: Apache-2.0
// Communication with relay: requests, the session, and the stream of events. All addresses are relative to the page's
// own, so that the page works behind a base path.

/** The address of a route below the page's base. */
export const urlOf = (path) => new URL(path, document.baseURI).href;

/** The route of a channel, without a leading slash. */
export const channelPath = (channel, rest = "") => `v1/channels/${encodeURIComponent(channel)}${rest}`;

/** Why a request failed, as text for people. */
export class Failure extends Error {
    constructor(words, status = 0) {
        super(words);
        Object.assign(this, { words, status });
    }
}

let onUnauthorized = () => {};
/** Calls `work` when relay answers that no user is signed in. */
export function whenUnauthorized(work) { onUnauthorized = work; }

/** Sends a request and returns the decoded answer; throws a `Failure`. If `isEarly`, the request may be sent before
 * the user signs in; if `isKept`, the browser still sends it when the page is closed. */
export async function request(method, path, body, { isEarly = false, isKept = false } = {}) {
    let answer;
    try {
        answer = await fetch(urlOf(path), {
            method, cache: "no-store", signal: AbortSignal.timeout(15000), keepalive: isKept,
            headers: body === undefined ? {} : { "Content-Type": "application/json" },
            body: body === undefined ? undefined : JSON.stringify(body),
        });
    } catch {
        throw new Failure("relay does not answer. Nothing was changed, as far as this page knows.");
    }
    if (!answer.ok) throw await failureOf(answer, isEarly);
    if (answer.status === 204 || !answer.headers.get("Content-Type")?.includes("json")) return {};
    return answer.json().catch(() => { throw new Failure("relay's answer broke off."); });
}

async function failureOf(answer, isEarly = false) {
    const problem = await answer.json().catch(() => ({}));
    if (answer.status === 401 && !isEarly) onUnauthorized();
    const usual = {
        401: "Sign in first.", 403: "You may look, but not operate.", 404: "That does not exist any more.",
        429: "Too many attempts. Wait a little.",
    };
    return new Failure(problem.detail ?? usual[answer.status] ?? problem.title ?? `relay answered ${answer.status}.`,
        answer.status);
}

export const get = (path, options) => request("GET", path, undefined, options);
export const post = (path, body, options) => request("POST", path, body, options);
export const put = (path, body) => request("PUT", path, body);
export const patch = (path, body) => request("PATCH", path, body);
export const remove = (path, options) => request("DELETE", path, undefined, options);

/** relay's server-sent events, read with a streaming fetch. Unlike EventSource, this distinguishes a refusal from a
 * broken connection, and detects a connection that is silent.
 *
 * Each time before it connects, `prepare()` fetches a fresh snapshot; `receive(name, data)` is called for each event.
 * The id of the last event is kept when relay is restarted: the events of the new process have larger ids.
 */
export class EventStream {
    /** Seconds without a byte after which the connection counts as broken: relay sends status once a second. */
    static silence = 4;

    constructor({ prepare, receive, lost }) {
        Object.assign(this, { prepare, receive, lost });
        this.lastID = "0";
        this.failures = 0;
        this.nextAttempt = 0;
        this.isStopped = true;
    }

    start() {
        if (!this.isStopped) return;
        this.isStopped = false;
        this.#run();
    }

    stop() {
        this.isStopped = true;
        this.abort?.abort();
        this.wake?.();
    }

    /** Ends the pause between two attempts. */
    hurry() { this.wake?.(); }

    async #run() {
        while (!this.isStopped) {
            try {
                await this.prepare();
                await this.#listen();
            } catch (problem) {
                if (problem?.status === 401) this.isStopped = true;
                else if (!(problem instanceof Failure) && problem?.name !== "AbortError"
                    && !(problem instanceof TypeError)) {
                    console.error(problem);
                }
            }
            if (this.isStopped) return;
            await this.#pause();
        }
    }

    /** Pauses for up to 3 s before the next attempt, or until `hurry()` is called. */
    async #pause() {
        const seconds = this.failures++ === 0 ? 0.3 : Math.min(3, this.failures);
        this.nextAttempt = performance.now() + seconds * 1000;
        this.lost();
        await new Promise((resolve) => {
            this.wake = resolve;
            setTimeout(resolve, seconds * 1000);
        });
        this.wake = undefined;
        this.nextAttempt = 0;
    }

    async #listen() {
        this.abort = new AbortController();
        let heard = performance.now();
        const watch = setInterval(() => {
            if (performance.now() - heard > EventStream.silence * 1000) this.abort.abort();
        }, 1000);
        try {
            const answer = await fetch(urlOf("v1/events?meters=1"), {
                signal: this.abort.signal, cache: "no-store",
                headers: { Accept: "text/event-stream", "Last-Event-ID": this.lastID },
            });
            if (!answer.ok) throw await failureOf(answer);
            const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
            let rest = "";
            for (;;) {
                const { value, done } = await reader.read();
                if (done) return;
                heard = performance.now();
                rest = this.#take(rest + value);
            }
        } finally {
            clearInterval(watch);
            this.abort.abort();
        }
    }

    /** Hands on each complete event of `text`, and returns the incomplete rest. */
    #take(text) {
        const blocks = text.replaceAll("\r\n", "\n").split("\n\n");
        const rest = blocks.pop();
        for (const block of blocks) this.#event(block);
        return rest;
    }

    #event(block) {
        let name = "message";
        const data = [];
        for (const line of block.split("\n")) {
            const [, field, value] = /^([a-z]+): ?(.*)$/.exec(line) ?? [];
            if (field === "event") name = value;
            else if (field === "data") data.push(value);
            else if (field === "id") this.lastID = value;
        }
        if (!data.length) return;
        this.failures = 0;
        this.receive(name, JSON.parse(data.join("\n")));
    }
}
