// SPDX-License-Identifier: Apache-2.0
// What a program of several sources shows: asked for twice a second while it is looked at, ten times while a transition
// runs, and at once after each change. Nothing is kept here that relay did not say.

import { channelPath, Failure, get } from "./api.js";

/** Milliseconds from one question to the next. */
const pace = { calm: 500, busy: 100 };

export class ProgramFeed {
    /** `received(report)` gets each report, null when the channel has no program of several sources. */
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

    /** Asks about another channel; null if there is none to ask about. */
    choose(channel) {
        Object.assign(this, { channel, report: null, endsAt: -1 });
        this.epoch += 1;
        if (channel) this.refresh();
    }

    watch(isWatched) {
        this.isWatched = isWatched;
        this.#schedule(0);
    }

    /** Whether a transition runs, or something that was asked for has not come about yet. */
    get isBusy() { return this.report?.progress !== undefined || (this.report?.frame ?? 0) <= this.endsAt; }

    async refresh() {
        const { epoch } = this;
        const number = this.asked += 1;
        try {
            const report = await get(this.path("/program"));
            // One that was asked for later may have come before, and a change makes all of before it old.
            if (epoch === this.epoch && number > this.shown) {
                this.shown = number;
                this.#take(report);
            }
        } catch (problem) {
            if (!(problem instanceof Failure)) throw problem;
            // Without an answer what was known stays; the page says how old it is.
            if (epoch === this.epoch && [404, 409].includes(problem.status)) this.#take(null);
        }
        this.#schedule();
    }

    /** Does `work(report)`, after what was asked for before it, and shows what the answer says; returns the answer. */
    change(work) {
        const done = this.queue.then(async () => {
            this.epoch += 1;
            const { epoch } = this;
            const answer = await work(this.report);
            if (epoch !== this.epoch) return answer;
            // What was asked for meanwhile may tell what was before.
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
