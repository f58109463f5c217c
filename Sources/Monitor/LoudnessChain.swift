// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// Measures the program's loudness and, if asked to, brings it to a target. Used by one thread at a time.
final class LoudnessChain {
    private struct Leveling {
        let input: LoudnessMeter
        var ride: LoudnessRide
        let limiter: PeakLimiter
    }

    private let output: LoudnessMeter
    private var leveling: Leveling?

    /// What was measured last of what goes on air.
    private(set) var status = LoudnessStatus()
    /// The gain now, in dB; nil if none is applied.
    var gain: Double? { leveling?.ride.gain }

    /// A chain for audio of `format`, towards `target` in LUFS, if there is one.
    init(target: Double?, format: AudioFormat) throws(AVFailure) {
        output = try LoudnessMeter(format: format, peaks: true)
        leveling = try target.map { (target) throws(AVFailure) in
            Leveling(
                input: try LoudnessMeter(format: format, peaks: false), ride: LoudnessRide(target: target),
                limiter: try PeakLimiter(format: format))
        }
    }

    /// Takes the audio that follows and returns what is ready to go on air, which follows what was ready before.
    func process(_ audio: AudioBuffer) throws(AVFailure) -> AudioBuffer {
        guard var leveling else { return try measured(audio) }
        self.leveling = nil
        defer { self.leveling = leveling }
        for reading in try leveling.input.measure(audio) {
            leveling.ride.note(momentary: reading.momentary, shortTerm: reading.shortTerm)
        }
        return try measured(leveling.limiter.limit(leveling.ride.apply(to: audio)))
    }

    /// The rest; nil if nothing is held.
    func finish() throws(AVFailure) -> AudioBuffer? { try leveling?.limiter.finish() }

    private func measured(_ audio: AudioBuffer) throws(AVFailure) -> AudioBuffer {
        status = try output.measure(audio).last ?? status
        return audio
    }
}
