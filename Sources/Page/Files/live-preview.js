// SPDX-License-Identifier: Apache-2.0
// The live preview: preview.mp4, read with a streaming fetch into Media Source Extensions, and played close to the
// newest data. If the browser cannot play the codec, snapshots are shown instead.

import { channelPath, urlOf } from "./api.js";
import { setShown, setText } from "./dom.js";

/** Seconds of media that should be buffered before the next fragment arrives. */
const reserve = 0.12;
/** Seconds behind the newest data from which the player catches up by seeking; below that, it plays faster. */
const seekFrom = 1.2;
/** By how many seconds the times of preview.mp4 are later than the program's. */
const lead = 1;
/** Seconds without a byte after which the connection counts as broken. */
const silence = 4;

const Source = globalThis.ManagedMediaSource ?? globalThis.MediaSource;

/** The MIME type `video/mp4; codecs="…"` of the media on air; null while it is unknown. */
export function mimeOf(report) {
    const codecs = [report?.video?.codecString, report?.audio?.codecString].filter(Boolean);
    if (!codecs.length) return null;
    return `${report.video ? "video" : "audio"}/mp4; codecs="${codecs.join(",")}"`;
}

/** The common name of a codec. */
function codecName(report) {
    return { hevc: "HEVC", h264: "H.264", av1: "AV1", aac: "AAC", opus: "Opus" }[report?.video?.codec]
        ?? report?.video?.codec ?? "this codec";
}

export class LivePreview {
    constructor({ stage, video, still, cover, coverText }) {
        Object.assign(this, { stage, video, still, cover, coverText });
        this.run = 0;
        this.channel = null;
        this.mime = null;
        this.isWanted = false;
        document.addEventListener("visibilitychange", () => this.#reconsider());
        video.addEventListener("playing", () => this.#moves());
        setInterval(() => this.#hold(), 100);
    }

    /** Requests the video of `channel` before its codec is known, so that in a cold start no request waits for
     * another. */
    expect(channel) {
        const abort = new AbortController();
        const answering = this.#fetch(channel, abort);
        answering.catch(() => {});
        this.early = { channel, abort, answering };
    }

    #fetch(channel, abort) {
        return fetch(urlOf(channelPath(channel, "/preview.mp4")), { signal: abort.signal, cache: "no-store" });
    }

    /** Returns the early response if it is for the channel shown and will be used now; otherwise cancels it. */
    #takeEarly(isUseful) {
        const early = this.early;
        this.early = undefined;
        if (early && isUseful && early.channel === this.channel) return early;
        early?.abort.abort();
        return null;
    }

    /** Shows `channel`; `report` describes the media on air. */
    show(channel, report) {
        const mime = mimeOf(report);
        if (channel !== this.channel) {
            this.#clear();
            this.channel = channel;
            this.mime = undefined;
        }
        this.isReady = report?.state === "on_air";
        if (mime && (mime !== this.mime || (this.isReady && !this.isWanted))) {
            this.report = report;
            this.mime = mime;
            this.isWanted = true;
            this.#restart();
        }
        if (!mime) this.#say("Waiting for the first frame");
    }

    /** Seconds from the frame on screen to the newest received frame; null if no video plays. */
    get lag() {
        const { buffered, currentTime } = this.video;
        return buffered.length && this.stage.classList.contains("moving")
            ? buffered.end(buffered.length - 1) - currentTime : null;
    }

    /** Program time of the frame on screen, in seconds; null if no video plays. */
    get programSeconds() {
        if (!this.stage.classList.contains("moving")) return null;
        return Math.max(0, (this.shownTime ?? this.video.currentTime) - lead);
    }

    /** Sets whether the time of each frame must be known while it is on screen. */
    watchFrames(isWatched) {
        const { video } = this;
        if (!video.requestVideoFrameCallback || Boolean(this.frameWatch) === isWatched) return;
        if (this.frameWatch) video.cancelVideoFrameCallback(this.frameWatch);
        this.frameWatch = this.shownTime = undefined;
        const shown = (now, { mediaTime }) => {
            this.shownTime = mediaTime;
            this.frameWatch = video.requestVideoFrameCallback(shown);
        };
        if (isWatched) this.frameWatch = video.requestVideoFrameCallback(shown);
    }

    /** The element that shows an image, `still` or the video, for echo and ambient light; null if there is no image. */
    get surface() { return this.stage.classList.contains("moving") ? this.video : this.still; }

    #reconsider() {
        if (!this.isWanted) return;
        if (document.hidden && this.video.muted) this.#end();
        else if (!document.hidden && !this.abort) this.#restart();
    }

    #clear() {
        this.#end();
        this.isWanted = false;
        this.stage.classList.remove("moving");
        this.still.getContext("2d").clearRect(0, 0, this.still.width, this.still.height);
    }

    #end() {
        this.run += 1;
        this.abort?.abort();
        this.abort = null;
    }

    async #restart() {
        this.#end();
        if (document.hidden && this.video.muted) return;
        const run = this.run;
        let canPlay = Boolean(Source?.isTypeSupported(this.mime));
        let refusals = 0;
        for (let failures = 0; run === this.run; failures += 1) {
            const early = this.#takeEarly(canPlay);
            this.abort = early?.abort ?? new AbortController();
            try {
                if (canPlay) await this.#play(run, early?.answering ?? this.#fetch(this.channel, this.abort),
                    () => { failures = 0; });
                else await this.#snapshots(run);
            } catch (problem) {
                if (run !== this.run) return;
                if (!["AbortError", "TypeError", "EncodingError"].includes(problem?.name) && !problem?.status) {
                    console.warn("preview:", problem?.message);
                    // The browser reported that it can play the codec, and then failed to.
                    refusals += 1;
                    if (refusals > 2) canPlay = false;
                }
            }
            if (run !== this.run) return;
            this.#keepLastFrame();
            this.#say("The last frame stands. Waiting for video");
            await new Promise((resolve) => setTimeout(resolve, failures < 2 ? 300 : 2000));
        }
    }

    // ---- Media Source Extensions ----

    async #play(run, answering, progressed) {
        const abort = this.abort;
        // The request may fail before its result is awaited.
        answering.catch(() => {});
        this.#keepLastFrame();
        const source = new Source();
        const address = URL.createObjectURL(source);
        this.video.disableRemotePlayback = true;
        this.video.src = address;
        let heard = performance.now();
        const watch = setInterval(() => { if (performance.now() - heard > silence * 1000) abort.abort(); }, 1000);
        try {
            await once(source, "sourceopen", abort.signal);
            const buffer = source.addSourceBuffer(this.mime);
            const answer = await answering;
            if (!answer.ok) throw Object.assign(new Error(`preview.mp4: ${answer.status}`), { status: answer.status });
            const reader = answer.body.getReader();
            this.margins = [];
            for (;;) {
                const { value, done } = await reader.read();
                if (done || run !== this.run) return;
                heard = performance.now();
                progressed();
                await this.#append(buffer, value, abort.signal);
            }
        } finally {
            clearInterval(watch);
            abort.abort();
            URL.revokeObjectURL(address);
        }
    }

    async #append(buffer, bytes, signal) {
        this.#noteMargin();
        buffer.appendBuffer(bytes);
        await once(buffer, "updateend", signal);
        if (this.video.error) throw new Error(this.video.error.message);
        const { buffered, currentTime } = this.video;
        if (!buffered.length) return;
        const [begin, end] = [buffered.start(buffered.length - 1), buffered.end(buffered.length - 1)];
        if (currentTime < begin) this.video.currentTime = Math.max(begin, end - reserve);
        if (this.video.paused) this.video.play().catch(() => {});
        // Without this the buffer would grow without limit.
        if (buffered.start(0) < currentTime - 20) {
            buffer.remove(0, currentTime - 8);
            await once(buffer, "updateend", signal);
        }
    }

    /** Measures how much media is buffered just before more is appended: playback could be this much closer to the
     * newest data without stalling. */
    #noteMargin() {
        const lag = this.lag;
        if (lag === null) return;
        const now = performance.now();
        this.margins.push([now, lag]);
        while (this.margins[0][0] < now - 1500) this.margins.shift();
    }

    /** Keeps the frame on screen close to the newest: plays faster while more is buffered than needed, and seeks if
     * it is far behind. */
    #hold() {
        const { video, lag } = this;
        if (lag === null || video.seeking) return;
        const margin = this.margins.length ? Math.min(...this.margins.map(([, value]) => value)) : lag;
        if (lag > seekFrom || margin > 0.8) {
            const { buffered } = video;
            video.currentTime = buffered.end(buffered.length - 1) - reserve;
            this.margins = [];
        } else if (margin > reserve + 0.06 || lag > 0.75) {
            video.playbackRate = 1 + Math.min(0.2, Math.max(0.05, (margin - reserve) * 0.5));
        } else if (margin <= reserve + 0.02) {
            video.playbackRate = 1;
        }
    }

    #moves() {
        const shown = () => {
            if (!this.stage.classList.contains("moving")) performance.mark("first-frame");
            this.stage.classList.add("moving");
            this.#say(this.report?.video ? "" : "Audio only");
        };
        if (this.video.requestVideoFrameCallback && this.report?.video) this.video.requestVideoFrameCallback(shown);
        else shown();
    }

    /** Draws the frame on screen into `still`, which remains visible while the video's source changes. */
    #keepLastFrame() {
        if (!this.stage.classList.contains("moving")) return;
        this.#draw(this.video, this.video.videoWidth, this.video.videoHeight);
        this.stage.classList.remove("moving");
    }

    #draw(surface, width, height) {
        if (!width || !height) return;
        const scale = Math.min(1, 960 / width);
        const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
        if (this.still.width !== w || this.still.height !== h) Object.assign(this.still, { width: w, height: h });
        this.still.getContext("2d").drawImage(surface, 0, 0, w, h);
    }

    // ---- Snapshots ----

    async #snapshots(run) {
        this.video.removeAttribute("src");
        const why = Source ? `This browser cannot play ${codecName(this.report)}: one frame a second`
            : "This browser cannot play live video: one frame a second";
        for (;;) {
            const image = new Image();
            image.src = urlOf(channelPath(this.channel, `/snapshot.jpg?width=960&t=${Date.now()}`));
            await image.decode();
            if (run !== this.run) return;
            this.#draw(image, image.naturalWidth, image.naturalHeight);
            this.#say(why);
            await new Promise((resolve) => setTimeout(resolve, 1000));
            if (run !== this.run) return;
        }
    }

    #say(words) {
        setText(this.coverText, words);
        setShown(this.cover, words !== "");
    }
}

/** Resolves with one event of `target`; rejects when `signal` aborts. */
function once(target, name, signal) {
    return new Promise((resolve, reject) => {
        const stopped = () => reject(new DOMException("ended", "AbortError"));
        if (signal.aborted) return stopped();
        signal.addEventListener("abort", stopped, { once: true });
        target.addEventListener(name, () => {
            signal.removeEventListener("abort", stopped);
            resolve();
        }, { once: true });
    });
}
