// SPDX-License-Identifier: Apache-2.0
// What this browser keeps: choices of whoever sits at it.

/** What was kept under this name; null if nothing was. */
export function stored(name) {
    try {
        return localStorage.getItem(`relay.${name}`);
    } catch {
        return null;
    }
}

/** Keeps a text. */
export function store(name, value) {
    try {
        localStorage.setItem(`relay.${name}`, value);
    } catch {
        // A browser that keeps nothing forgets the choice.
    }
}
