// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Tells silent audio from other by its peak.
struct SilenceDetector: Sendable {
    /// Audio must be so much louder than what counts as silent to end a silence, in dB.
    private static let margin = 6.0

    private let silent: Float
    private let loud: Float

    /// A detector of audio whose samples all stay below `level`, in dBFS.
    init(level: Double) {
        silent = Self.amplitude(level)
        loud = Self.amplitude(min(0, level + Self.margin))
    }

    /// What `audio` is; of an empty run nothing is known.
    func read(_ audio: AudioBuffer) -> Alarm.Reading {
        var peak: Float = 0
        for channel in audio.channels {
            for sample in channel { peak = max(peak, abs(sample)) }
        }
        if audio.count == 0 { return .between }
        return peak < silent ? .faulty : peak < loud ? .between : .right
    }

    private static func amplitude(_ level: Double) -> Float { Float(Decibels.amplitude(level)) }
}
