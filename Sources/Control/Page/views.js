// SPDX-License-Identifier: Apache-2.0
// The views of the page: which is shown, chosen by the header's tabs or by the phone's bar. The address's fragment
// names the channel and remembers the view: `#main`, `#main/program`.

import { byID, setAttribute, setShown } from "./dom.js";

/** Channel and view that the address names; empty if it names none. */
export function fragment() {
    const [channel = "", view = ""] = location.hash.slice(1).split("/");
    try {
        return { channel: decodeURIComponent(channel), view };
    } catch {
        return { channel: "", view: "" };
    }
}

export class Views {
    /** `changed(view)` is called after another view was shown. */
    constructor(changed) {
        this.changed = changed;
        this.names = ["live", "program"];
        this.current = "live";
        this.hasProgram = false;
        this.wanted = fragment().view;
        this.stage = byID("stage");
        for (const button of document.querySelectorAll("[data-view]:not(body)")) {
            button.addEventListener("click", () => this.choose(button.dataset.view));
        }
        byID("views").addEventListener("keydown", (event) => this.#arrows(event));
        this.#show("live");
    }

    /** The channel whose name the address bears. */
    name(channel) {
        this.channel = channel;
        this.#write();
    }

    /** Whether there is a program view for what is shown: without, the switch does not appear. */
    allow(hasProgram) {
        this.hasProgram = hasProgram;
        for (const id of ["views", "views-bar"]) setShown(byID(id), hasProgram);
        const view = hasProgram && this.wanted === "program" ? "program" : "live";
        if (view !== this.current) this.#show(view);
    }

    choose(view) {
        this.wanted = view;
        if (view === this.current || (view === "program" && !this.hasProgram)) return;
        this.#show(view);
        this.#write();
        scrollTo(0, 0);
    }

    #write() {
        if (!this.channel) return;
        const view = this.wanted === "program" ? "/program" : "";
        const address = `#${encodeURIComponent(this.channel)}${view}`;
        if (location.hash !== address) history.replaceState(null, "", address);
    }

    #show(view) {
        this.current = view;
        document.body.dataset.view = view;
        this.#moveStage(view);
        for (const name of this.names) setShown(byID(`view-${name}`), name === view);
        for (const tab of byID("views").children) {
            setAttribute(tab, "aria-selected", String(tab.dataset.view === view));
            tab.tabIndex = tab.dataset.view === view ? 0 : -1;
        }
        for (const button of byID("views-bar").children) {
            setAttribute(button, "aria-current", button.dataset.view === view ? "page" : null);
        }
        this.changed(view);
    }

    /** One player for both views: what is on air plays on while it changes its place. */
    #moveStage(view) {
        const parent = byID(view === "program" ? "program-monitor" : "deck");
        if (this.stage.parentNode === parent) return;
        const before = view === "program" ? null : parent.querySelector(".meters");
        if (parent.moveBefore) parent.moveBefore(this.stage, before);
        else parent.insertBefore(this.stage, before);
    }

    #arrows(event) {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        const { names } = this;
        this.choose(names[(names.indexOf(this.current) + step + names.length) % names.length]);
        byID("views").querySelector("[aria-selected=true]").focus();
    }
}
