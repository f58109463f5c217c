// SPDX-License-Identifier: Apache-2.0

internal import LibAV
package import Logging
package import Media
internal import Synchronization

/// Watches what goes on air on its way to the encoder, raises alarms, and brings audio to a loudness.
///
/// Frames are looked at ten times a second. Audio that is brought to a loudness keeps its place in the program, so that
/// it stays with its video to the sample: it is only encoded some milliseconds later. The status may be read on any thread
/// without waiting; everything else is called by the program's thread.
package final class MonitoredSink: ProgramSink {
    private struct State {
        var silence: Alarm?
        var black: Alarm?
        var frozen: Alarm?
        let audio: SilenceDetector
        var frames: FrameDetector
        var chain: LoudnessChain?
        /// Where the frame lay that was looked at last.
        var lookedAt: Int64?
    }

    /// How many frames there are from one that is looked at to the next: a tenth of a second.
    private let stride: Int64
    private let frameRate: FrameRate
    private let next: any ProgramSink
    private let logger: Logger
    private let state: Mutex<State>
    private let shown = Mutex(MonitorStatus())

    /// A sink in front of `next` in a program of these formats; without `audio` there is no alarm about it. Throws
    /// ``AVFailure`` if loudness is to be measured and libavfilter cannot.
    package init(
        _ next: any ProgramSink, settings: MonitorSettings, video: VideoFormat, audio: AudioFormat?, logger: Logger
    ) throws {
        self.next = next
        self.logger = logger
        frameRate = video.frameRate
        stride = max(1, Int64(video.frameRate.value / 10))
        let isMeasured = settings.measuresLoudness || settings.loudness != nil
        state = Mutex(
            State(
                silence: audio == nil ? nil : settings.silence.map(Alarm.init), black: settings.black.map(Alarm.init),
                frozen: settings.frozen.map(Alarm.init), audio: SilenceDetector(level: settings.silenceLevel),
                frames: FrameDetector(
                    blackLevel: settings.blackLevel, frozenLevel: settings.frozenLevel,
                    isFullRange: video.color.isFullRange),
                chain: try isMeasured
                    ? audio.map { (audio) throws(AVFailure) in
                        try LoudnessChain(target: settings.loudness, format: audio)
                    } : nil))
        publish()
    }

    /// A snapshot. Any thread.
    package var status: MonitorStatus { shown.withLock { $0 } }

    package func encode(_ frame: VideoFrame, at index: Int64) throws {
        look(at: frame, index)
        try next.encode(frame, at: index)
    }

    package func encode(_ audio: AudioBuffer) throws {
        let base = audio.format.timeBase
        let (event, ready) = state.withLock { state in
            let event = state.silence?.note(
                state.audio.read(audio), from: Timestamp(audio.position, in: base), to: Timestamp(audio.end, in: base))
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
            let from = Timestamp(last + 1, in: frameRate.timeBase)
            let to = Timestamp(index + 1, in: frameRate.timeBase)
            return [
                (state.black?.note(reading.black, from: from, to: to), .black),
                (state.frozen?.note(reading.frozen, from: from, to: to), .frozen),
            ]
        }
        for (event, kind) in events { kind.tell(event, to: logger) }
    }

    /// What goes on air of `audio`: itself, once the chain failed.
    private func process(_ audio: AudioBuffer, _ state: inout State) -> AudioBuffer {
        guard let chain = state.chain else { return audio }
        do throws(AVFailure) {
            return try chain.process(audio)
        } catch {
            state.chain = nil
            logger.error("loudness is not measured any more", metadata: ["reason": "\(error)"])
            return audio
        }
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
