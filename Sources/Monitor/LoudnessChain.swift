// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// Measures the program's loudness and, if requested, adjusts it to a target. Only one thread may use it at a time.
final class LoudnessChain {
    private struct Leveling {
        let input: LoudnessMeter
        var ride: LoudnessRide
        let limiter: PeakLimiter
    }

    private let output: LoudnessMeter
    private var leveling: Leveling?

    /// The latest measurement of the audio that goes on air.
    private(set) var status = LoudnessStatus()
    /// The current gain in dB; nil if the chain applies none.
    var gain: Double? { leveling?.ride.gain }

    /// A chain for audio of `format`. `target` is the target loudness in LUFS, if there is one.
    init(target: Double?, format: AudioFormat) throws(AVFailure) {
        output = try LoudnessMeter(format: format, peaks: true)
        leveling = try target.map { (target) throws(AVFailure) in
            Leveling(
                input: try LoudnessMeter(format: format, peaks: false), ride: LoudnessRide(target: target),
                limiter: try PeakLimiter(format: format))
        }
    }

    /// Processes the next audio and returns the audio that is ready. It continues the audio that was returned before.
    func process(_ audio: AudioBuffer) throws(AVFailure) -> AudioBuffer {
        guard var leveling else { return try measured(audio) }
        self.leveling = nil
        defer { self.leveling = leveling }
        for reading in try leveling.input.measure(audio) {
            leveling.ride.note(momentary: reading.momentary, shortTerm: reading.shortTerm)
        }
        return try measured(leveling.limiter.limit(leveling.ride.apply(to: audio)))
    }

    /// Returns the remaining audio; nil if the chain holds no audio.
    func finish() throws(AVFailure) -> AudioBuffer? { try leveling?.limiter.finish() }

    private func measured(_ audio: AudioBuffer) throws(AVFailure) -> AudioBuffer {
        status = try output.measure(audio).last ?? status
        return audio
    }
}
