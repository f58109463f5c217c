// SPDX-License-Identifier: Apache-2.0
// The views of the page. The view is selected with the header's tabs or with the phone's bar. The address's fragment
// contains the channel and the view: `#main`, `#main/program`, `#main/clips`.

import { byID, setAttribute, setShown } from "./dom.js";

/** The channel and the view in the address; empty if the address contains none. */
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
        this.names = ["live", "program", "clips"];
        this.current = "live";
        this.allowed = new Set(["live"]);
        this.wanted = fragment().view;
        this.stage = byID("stage");
        for (const button of document.querySelectorAll("[data-view]:not(body)")) {
            button.addEventListener("click", () => this.choose(button.dataset.view));
        }
        byID("views").addEventListener("keydown", (event) => this.#arrows(event));
        this.#show("live");
    }

    /** Writes the name of the channel into the address. */
    name(channel) {
        this.channel = channel;
        this.#write();
    }

    /** Sets whether the channel has this view. If it has only one view, the switch is hidden. */
    allow(name, isAllowed) {
        if (isAllowed) this.allowed.add(name);
        else this.allowed.delete(name);
        for (const id of ["views", "views-bar"]) {
            setShown(byID(id), this.allowed.size > 1);
            for (const button of byID(id).children) setShown(button, this.allowed.has(button.dataset.view));
        }
        const view = this.allowed.has(this.wanted) ? this.wanted : "live";
        if (view !== this.current) this.#show(view);
    }

    choose(view) {
        this.wanted = view;
        if (view === this.current || !this.allowed.has(view)) return;
        this.#show(view);
        this.#write();
        scrollTo(0, 0);
    }

    #write() {
        if (!this.channel) return;
        const view = this.names.includes(this.wanted) && this.wanted !== "live" ? `/${this.wanted}` : "";
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

    /** All views share one player, so that the video continues to play while it is moved from view to view. */
    #moveStage(view) {
        const parent = byID({ program: "program-monitor", clips: "clips-monitor" }[view] ?? "deck");
        if (this.stage.parentNode === parent) return;
        const before = view === "live" ? parent.querySelector(".meters") : null;
        if (parent.moveBefore) parent.moveBefore(this.stage, before);
        else parent.insertBefore(this.stage, before);
    }

    #arrows(event) {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        const names = this.names.filter((name) => this.allowed.has(name));
        this.choose(names[(names.indexOf(this.current) + step + names.length) % names.length]);
        byID("views").querySelector("[aria-selected=true]").focus();
    }
}
