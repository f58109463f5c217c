// SPDX-License-Identifier: Apache-2.0
// A still of a recording in an image element. A still that is not available yet is requested again, at growing
// intervals.

import { setAttribute } from "./dom.js";

/** Milliseconds before the second attempt; doubled before each later one. */
const pause = 2000;
/** The most attempts for one address, which take over four minutes. */
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

    /** Shows the image at `address`, unless it is shown already or was attempted; null leaves the present image. */
    show(address) {
        if (address === null || address === this.address) return;
        clearTimeout(this.timer);
        Object.assign(this, { address, failures: 0 });
        setAttribute(this.image, "src", address);
    }

    /** Removes the image. */
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
