// SPDX-License-Identifier: Apache-2.0
// Texts for people: durations, sizes, times, states and causes. Pure functions.

const two = (number) => String(Math.floor(number)).padStart(2, "0");

/** A number of seconds as `04:17:33`. */
export const clock = (seconds) => `${two(seconds / 3600)}:${two((seconds / 60) % 60)}:${two(seconds % 60)}`;

/** A number of seconds as `21:08`, or as `1:21:08` from an hour on. */
export const shortClock = (seconds) =>
    seconds >= 3600 ? clock(seconds) : `${two(seconds / 60)}:${two(seconds % 60)}`;

/** A duration in two units, such as `7 h 40 min`. A number and its unit are not separated by a line break. */
export const duration = (seconds) => inTwoUnits(seconds).replace(/(\d) /g, "$1\u00a0");

function inTwoUnits(seconds) {
    const whole = Math.max(0, Math.floor(seconds));
    if (whole >= 172800) return `${Math.floor(whole / 86400)} days`;
    if (whole >= 3600) return `${Math.floor(whole / 3600)} h ${Math.floor((whole / 60) % 60)} min`;
    if (whole >= 60) return whole % 60 === 0 ? `${whole / 60} min` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
    return `${whole} s`;
}

/** A size in SI units, such as `1.37 GB`. */
export const size = (bytes) => inUnits(bytes).replace(" ", "\u00a0");

function inUnits(bytes) {
    if (bytes >= 1e12) return `${(bytes / 1e12).toFixed(2)} TB`;
    if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(bytes < 1e10 ? 2 : 1)} GB`;
    if (bytes >= 1e6) return `${Math.round(bytes / 1e6)} MB`;
    return `${Math.round(bytes / 1e3)} kB`;
}

/** A bitrate in Mbit/s, such as `6.1`; the parameter is in bits a second. */
export const megabits = (bitrate) => (bitrate / 1e6).toFixed(1);

/** A number with a typographic minus sign. */
export const signed = (number, digits = 1) => {
    const text = Math.abs(number).toFixed(digits);
    return number < 0 && Number(text) !== 0 ? `−${text}` : text;
};

/** A number with its noun, such as `1 gap`, `2 gaps`. */
export const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

/** An integer with its thousands separated, such as `12 345`. */
export const grouped = (number) => String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, " ");

/** The time of day in this browser's time zone, such as `14:20:53`; `date` is a Date, milliseconds or ISO 8601. */
export function timeOfDay(date) {
    const value = new Date(date);
    return `${two(value.getHours())}:${two(value.getMinutes())}:${two(value.getSeconds())}`;
}

/** The time of day without seconds, such as `14:20`. */
export const hourAndMinute = (date) => timeOfDay(date).slice(0, 5);

/** The date, such as `23 Nov`. */
export const day = (date) => new Date(date).toLocaleDateString("en-GB", { day: "numeric", month: "short" });

/** The text with a capital first letter, unless it begins with an address or a host's name, and with a full stop at
 * its end. */
export function sentence(words) {
    const text = String(words ?? "").trim();
    if (!text) return "";
    const begun = /^\S*[.:/@]\S/.test(text) ? text : text[0].toUpperCase() + text.slice(1);
    return /[.?…]$/.test(begun) ? begun : `${begun}.`;
}

/** The timecode of the frame `frame`, counted from 0, at `rate` frames a second, such as `0:00:02:05`. */
export function timecode(frame, rate) {
    const base = Math.max(1, Math.round(rate));
    const two = (value) => String(value).padStart(2, "0");
    const seconds = Math.floor(frame / base);
    return `${Math.floor(seconds / 3600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}:${two(frame % base)}`;
}

/** A number of milliseconds as `44 ms`, or as `3.0 s` from a second on. */
export const milliseconds = (value) => (value >= 1000 ? `${(value / 1000).toFixed(1)} s` : `${Math.round(value)} ms`);

/** The protocol of an output's address, such as `RTMPS`, `SRT` or `RTMPS listener`. */
export function protocolOf(output) {
    const scheme = /^([a-z]+):/i.exec(output.address ?? "")?.[1] ?? output.kind ?? "";
    const [protocol, listens] = (output.kind ?? scheme).split("-");
    return listens ? `${protocol.toUpperCase()} listener` : scheme.toUpperCase();
}

/** The host and port in an address, such as `live.example.org:443`. */
export function hostOf(address) {
    const [, scheme, authority] = /^([a-z]+):\/\/([^/?#]*)/i.exec(address ?? "") ?? [];
    if (!authority) return "its address";
    const host = authority.replace(/^.*@/, "");
    const ports = { rtmp: 1935, rtmps: 443 };
    return /:\d+$/.test(host) || !ports[scheme.toLowerCase()] ? host : `${host}:${ports[scheme.toLowerCase()]}`;
}

/** Why an output is off air, as a sentence, followed by the server's message. */
export function causeWords(output) {
    const detail = output.detail ? sentence(output.detail) : "";
    const words = {
        unreachable: `Nobody answers at ${hostOf(output.address)}.`,
        lost: "Connection broke.",
        rejected: "The server closed the connection.",
        refused: "The server says the stream key is wrong.",
    }[output.cause];
    if (output.hint === "certificate") return detail;
    if (output.hint === "unknownName") {
        return `${hostOf(output.address).replace(/:\d+$/, "")} is not known.`;
    }
    if (output.cause === "refused" && detail && output.hint !== "credentials") return detail;
    return words ?? detail;
}

/** The state of an output: symbol, class and text. */
export function outputState(output) {
    const attempt = output.attempt ?? 0;
    const next = output.nextAttemptSeconds;
    const later = next === undefined ? "" : ` · attempt ${attempt + 1} in ${duration(Math.max(1, Math.ceil(next)))}`;
    switch (output.state) {
    case "live": return { icon: "disc", kind: "good", words: `Live for ${duration(output.liveSeconds ?? 0)}` };
    case "connecting":
        return { icon: "turning", kind: isOffAir(output) ? "bad" : "off",
            words: `Connecting, attempt ${Math.max(1, attempt)}` };
    case "waiting": return { icon: "clock", kind: "off", words: "Waiting for a caller" };
    case "backing_off": return { icon: "triangle", kind: "bad", words: `Off air${later}` };
    case "refused": return { icon: "octagon", kind: "bad", words: "Refused · needs you" };
    case "given_up": return { icon: "octagon", kind: "bad", words: "Given up · needs you" };
    case "paused": return { icon: "pause", kind: "off", words: "Paused by you" };
    case "draining": return { icon: "clock", kind: "off", words: "Ending · sending the last frames" };
    case "stopped": return { icon: "ring", kind: "off", words: "Stopped" };
    default: return { icon: "ring", kind: "off", words: "Not started" };
    }
}

/** Whether an output is off air although it should be on air. An output in its first attempt does not count as off
 * air. */
export const isOffAir = (output) =>
    ["backing_off", "refused", "given_up"].includes(output.state)
    || (output.state === "connecting" && ((output.attempt ?? 0) > 1 || output.wasLive === true));

/** Whether the output stays off air until an operator acts. */
export const needsOperator = (output) => ["refused", "given_up"].includes(output.state);

const dropWords = {
    not_connected: "not connected", disposable: "disposable", congestion: "congestion", overflow: "overflow",
    awaiting_keyframe: "until a keyframe",
};

/** The number of packets that an output's queue dropped. */
export const dropped = (output) =>
    Object.values(output.queue?.drops ?? {}).reduce((sum, number) => sum + number, 0);

/** A sentence such as `Dropped: 20 congestion, 4 until a keyframe`. */
export function dropSentence(output) {
    const parts = Object.entries(output.queue?.drops ?? {}).filter(([, number]) => number > 0);
    if (!parts.length) return "";
    const words = parts.map(([cause, number]) => `${number} ${dropWords[cause] ?? cause.replaceAll("_", " ")}`);
    return `Dropped: ${words.join(", ")}`;
}

/** The descriptions of a source's states. */
export const sourceWords = { opening: "is being opened", waiting: "is waited for", ended: "is over", failed: "failed" };

/** The state of a channel, for the list of channels. */
export function channelWords(channel) {
    const states = { on_air: "On air", opening: "Opening", waiting: "Waiting for its source", over: "Over" };
    const air = channel.isOnAir === false && channel.state === "on_air" ? "Off air"
        : states[channel.state] ?? "Off air";
    return `${air} · ${channel.isRecording ? "recording" : "not recording"}`;
}
