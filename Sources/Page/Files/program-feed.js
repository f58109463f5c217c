// SPDX-License-Identifier: Apache-2.0
// The state of a program of several sources. It is requested twice a second while the program is visible, ten times a
// second during a transition, and at once after each change. Only data from relay is kept here.

import { channelPath, Failure, get } from "./api.js";

/** Milliseconds between two requests. */
const pace = { calm: 500, busy: 100 };

export class ProgramFeed {
    /** `received(report)` is called with each report, and with null if the channel has no program of several sources.
     */
    constructor(received) {
        this.received = received;
        this.channel = null;
        this.report = null;
        this.isWatched = false;
        this.epoch = 0;
        this.asked = 0;
        this.shown = 0;
        this.endsAt = -1;
        this.queue = Promise.resolve();
        document.addEventListener("visibilitychange", () => this.#schedule(0));
    }

    path(rest) { return channelPath(this.channel, rest); }

    /** Requests the state of another channel; null means that there is no such channel. */
    choose(channel) {
        Object.assign(this, { channel, report: null, endsAt: -1 });
        this.epoch += 1;
        if (channel) this.refresh();
    }

    watch(isWatched) {
        this.isWatched = isWatched;
        this.#schedule(0);
    }

    /** Whether a transition runs, or a requested change has not taken effect yet. */
    get isBusy() { return this.report?.progress !== undefined || (this.report?.frame ?? 0) <= this.endsAt; }

    async refresh() {
        const { epoch } = this;
        const number = this.asked += 1;
        try {
            const report = await get(this.path("/program"));
            // The answer to a later request may have arrived earlier, and after a change all earlier answers are
            // outdated.
            if (epoch === this.epoch && number > this.shown) {
                this.shown = number;
                this.#take(report);
            }
        } catch (problem) {
            if (!(problem instanceof Failure)) throw problem;
            // If there is no answer, the last state is kept; the page shows how old it is.
            if (epoch === this.epoch && [404, 409].includes(problem.status)) this.#take(null);
        }
        this.#schedule();
    }

    /** Calls `work(report)` after all earlier changes, and shows the state in its answer; returns the answer. */
    change(work) {
        const done = this.queue.then(async () => {
            this.epoch += 1;
            const { epoch } = this;
            const answer = await work(this.report);
            if (epoch !== this.epoch) return answer;
            // Answers to requests that were sent in the meantime may describe the state before the change.
            this.epoch += 1;
            if (answer.sources) this.#take(answer);
            else {
                this.endsAt = answer.frame;
                await this.refresh();
            }
            return answer;
        });
        this.queue = done.then(() => {}, () => { this.refresh(); });
        return done;
    }

    #take(report) {
        this.report = report;
        this.received(report);
    }

    #schedule(delay = this.isBusy ? pace.busy : pace.calm) {
        clearTimeout(this.timer);
        if (this.isWatched && this.channel && !document.hidden) this.timer = setTimeout(() => this.refresh(), delay);
    }
}
