// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Detects silent audio by its peak.
struct SilenceDetector: Sendable {
    /// By how many dB audio must exceed the silence level to end a silence.
    private static let margin = 6.0

    private let silent: Float
    private let loud: Float

    /// A detector of audio in which no sample reaches `level`, in dBFS.
    init(level: Double) {
        silent = Self.amplitude(level)
        loud = Self.amplitude(min(0, level + Self.margin))
    }

    /// Returns the reading for `audio`; for an empty buffer, the reading is "between".
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
