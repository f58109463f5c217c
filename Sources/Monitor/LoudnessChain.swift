// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// Measures the program's loudness. With a target loudness, it also adjusts the audio to this target. Only one thread
/// may use it at a time.
final class LoudnessChain {
    private struct Leveling {
        let input: LoudnessMeter
        var ride: LoudnessRide
        let limiter: PeakLimiter
    }

    private let output: LoudnessMeter
    private var leveling: Leveling?

    /// The latest loudness of the audio that goes on air, after the adjustment.
    private(set) var status = LoudnessStatus()
    /// The gain that is applied now, in dB; nil without a target loudness.
    var gain: Double? { leveling?.ride.gain }

    /// Creates a chain for audio of `format`. `target` is the target loudness in LUFS; with nil, the audio is not
    /// adjusted.
    init(target: Double?, format: AudioFormat) throws(AVFailure) {
        output = try LoudnessMeter(format: format, peaks: true)
        leveling = try target.map { (target) throws(AVFailure) in
            Leveling(
                input: try LoudnessMeter(format: format, peaks: false), ride: LoudnessRide(target: target),
                limiter: try PeakLimiter(format: format))
        }
    }

    /// Processes the next audio, and returns audio that is ready. The returned audio directly follows the audio that
    /// was returned before.
    func process(_ audio: AudioBuffer) throws(AVFailure) -> AudioBuffer {
        guard var leveling else { return try measured(audio) }
        self.leveling = nil
        defer { self.leveling = leveling }
        for reading in try leveling.input.measure(audio) {
            leveling.ride.note(momentary: reading.momentary, shortTerm: reading.shortTerm)
        }
        return try measured(leveling.limiter.limit(leveling.ride.apply(to: audio)))
    }

    /// Returns the audio that the chain still holds; nil without a target loudness, because the chain then holds no
    /// audio.
    func finish() throws(AVFailure) -> AudioBuffer? { try leveling?.limiter.finish() }

    private func measured(_ audio: AudioBuffer) throws(AVFailure) -> AudioBuffer {
        status = try output.measure(audio).last ?? status
        return audio
    }
}
