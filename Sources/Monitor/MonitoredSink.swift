// SPDX-License-Identifier: Apache-2.0

internal import LibAV
package import Logging
package import Media
internal import Synchronization

/// Monitors the program on its way to the encoder. It raises alarms and can adjust the audio to a target loudness.
///
/// About ten frames per second are examined. Adjusted audio keeps its position in the program, so it stays in sync with
/// the video exactly. Adjusted audio reaches the encoder only a few milliseconds later. Any thread may read the status,
/// without waiting. Only the program's thread may call the other methods.
///
/// ```swift
/// var settings = MonitorSettings()
/// settings.loudness = -23
/// let sink = try MonitoredSink(encoder, settings: settings, video: video, audio: .program, logger: logger)
/// print(sink.status.silence?.isActive ?? false)
/// ```
package final class MonitoredSink: ProgramSink {
    private struct State {
        var silence: Alarm?
        var black: Alarm?
        var frozen: Alarm?
        let audio: SilenceDetector
        var frames: FrameDetector
        var chain: LoudnessChain?
        /// The end of the audio that was returned by `process` so far, as a sample position in the program; nil before
        /// the first audio.
        var given: Int64?
        /// The number of consecutive audio buffers that the loudness chain refused with an error.
        var refusals = 0
        var hasRefused = false
        /// The index of the frame that was examined last.
        var lookedAt: Int64?
    }

    /// After each refusal the loudness chain is replaced by a new one. After this many consecutive refusals, loudness
    /// is no longer measured or adjusted.
    private static let mostRefusals = 25

    /// The number of frames from one examined frame to the next: as many as fit into a tenth of a second, but at least
    /// one.
    private let stride: Int64
    private let frameRate: FrameRate
    private let next: any ProgramSink
    /// Creates a chain that measures and adjusts loudness; nil if neither is requested.
    private let makeChain: (@Sendable () throws(AVFailure) -> LoudnessChain)?
    private let logger: Logger
    private let state: Mutex<State>
    private let shown = Mutex(MonitorStatus())

    /// Creates a sink that passes a program with these formats on to `next`. If `audio` is nil, there is no alarm for
    /// silence and loudness is not measured. Throws ``AVFailure`` if loudness must be measured but libavfilter cannot
    /// do it.
    package init(
        _ next: any ProgramSink, settings: MonitorSettings, video: VideoFormat, audio: AudioFormat?, logger: Logger
    ) throws {
        self.next = next
        self.logger = logger
        frameRate = video.frameRate
        stride = max(1, Int64(video.frameRate.value / 10))
        let isMeasured = settings.measuresLoudness || settings.loudness != nil
        let target = settings.loudness
        if isMeasured, let audio {
            makeChain = { () throws(AVFailure) in try LoudnessChain(target: target, format: audio) }
        } else {
            makeChain = nil
        }
        state = Mutex(
            State(
                silence: audio == nil ? nil : settings.silence.map(Alarm.init), black: settings.black.map(Alarm.init),
                frozen: settings.frozen.map(Alarm.init), audio: SilenceDetector(level: settings.silenceLevel),
                frames: FrameDetector(
                    blackLevel: settings.blackLevel, frozenLevel: settings.frozenLevel,
                    isFullRange: video.color.isFullRange), chain: try makeChain?()))
        publish()
    }

    /// A snapshot of the status. Any thread may read this property.
    package var status: MonitorStatus { shown.withLock { $0 } }

    package func encode(_ frame: VideoFrame, at index: Int64) throws {
        look(at: frame, index)
        try next.encode(frame, at: index)
    }

    package func encode(_ audio: AudioBuffer) throws {
        let base = audio.format.timeBase
        let (event, ready) = state.withLock { state in
            let event = state.silence?.note(
                state.audio.read(audio), from: ProgramInstant(audio.position, in: base),
                to: ProgramInstant(audio.end, in: base))
            return (event, process(audio, &state))
        }
        AlarmKind.silence.tell(event, to: logger)
        publish()
        if ready.count > 0 { try next.encode(ready) }
    }

    package func finish() throws {
        let rest = state.withLock { state in
            defer { state.chain = nil }
            return try? state.chain?.finish()
        }
        if let rest, rest.count > 0 { try next.encode(rest) }
        try next.finish()
    }

    private func look(at frame: VideoFrame, _ index: Int64) {
        let events = state.withLock { state -> [(Alarm.Event?, AlarmKind)] in
            guard state.black != nil || state.frozen != nil else { return [] }
            let last = state.lookedAt ?? index - 1
            guard state.lookedAt == nil || index - last >= stride else { return [] }
            state.lookedAt = index
            let reading = state.frames.read(frame)
            let from = ProgramInstant(last + 1, in: frameRate.timeBase)
            let to = ProgramInstant(index + 1, in: frameRate.timeBase)
            return [
                (state.black?.note(reading.black, from: from, to: to), .black),
                (state.frozen?.note(reading.frozen, from: from, to: to), .frozen),
            ]
        }
        for (event, kind) in events { kind.tell(event, to: logger) }
    }

    /// Returns the audio that goes on air now. If the loudness chain refuses `audio`, the result is silence in place of
    /// the audio that the chain still held, followed by `audio` itself.
    private func process(_ audio: AudioBuffer, _ state: inout State) -> AudioBuffer {
        guard let chain = state.chain else { return audio }
        var ready: AudioBuffer
        do throws(AVFailure) {
            ready = try chain.process(audio)
            state.refusals = 0
        } catch {
            let start = state.given ?? audio.position
            ready = .silence(at: start, count: Int(max(0, audio.position - start)), format: audio.format)
            ready.append(audio)
            replaceChain(because: error, &state)
        }
        if ready.count > 0 { state.given = ready.end }
        return ready
    }

    /// Replaces the loudness chain after a refusal. After too many consecutive refusals, or if no new chain can be
    /// created, removes it instead.
    private func replaceChain(because failure: AVFailure, _ state: inout State) {
        state.refusals += 1
        state.chain = state.refusals < Self.mostRefusals ? try? makeChain?() : nil
        if state.chain == nil {
            logger.error("loudness is not measured any more", metadata: ["reason": "\(failure)"])
        } else if !state.hasRefused {
            logger.warning(
                "a run of audio was not measured; measuring begins again behind it", metadata: ["reason": "\(failure)"])
        }
        state.hasRefused = true
    }

    private func publish() {
        let status = state.withLock { state in
            var status = MonitorStatus()
            status.loudness = state.chain?.status
            status.gain = state.chain?.gain
            status.silence = state.silence?.status
            status.black = state.black?.status
            status.frozen = state.frozen?.status
            return status
        }
        shown.withLock { $0 = status }
    }
}
