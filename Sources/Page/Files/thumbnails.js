// SPDX-License-Identifier: Apache-2.0
// A still of a recording in an image: what cannot be had yet is asked for again, ever more rarely.

import { setAttribute } from "./dom.js";

/** Milliseconds to the second try; twice as many before each later one. */
const pause = 2000;
/** Tries of one address: over four minutes. */
const tries = 8;

export class Thumbnail {
    constructor(image) {
        Object.assign(this, { image, address: null, failures: 0 });
        image.addEventListener("error", () => this.#failed());
        image.addEventListener("load", () => {
            this.failures = 0;
            image.classList.remove("absent");
        });
    }

    /** Shows what is at `address`, if it is not shown or tried already; null leaves what is there. */
    show(address) {
        if (address === null || address === this.address) return;
        clearTimeout(this.timer);
        Object.assign(this, { address, failures: 0 });
        setAttribute(this.image, "src", address);
    }

    /** Shows nothing. */
    clear() {
        clearTimeout(this.timer);
        this.address = null;
        this.image.removeAttribute("src");
    }

    #failed() {
        const { image, address } = this;
        image.classList.add("absent");
        this.failures += 1;
        if (this.failures >= tries || !image.isConnected) return;
        clearTimeout(this.timer);
        this.timer = setTimeout(() => {
            if (address !== this.address || !image.isConnected) return;
            image.removeAttribute("src");
            image.src = address;
        }, pause * 2 ** (this.failures - 1));
    }
}
