// SPDX-License-Identifier: Apache-2.0
// Settings of the user that are stored in this browser.

/** The text stored under this name; null if there is no such text. */
export function stored(name) {
    try {
        return localStorage.getItem(`relay.${name}`);
    } catch {
        return null;
    }
}

/** Stores a text under this name. */
export function store(name, value) {
    try {
        localStorage.setItem(`relay.${name}`, value);
    } catch {
        // If the browser stores nothing, the setting is lost when the page is closed.
    }
}
