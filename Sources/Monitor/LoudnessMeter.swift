// SPDX-License-Identifier: Apache-2.0

internal import Foundation
package import LibAV
package import Media

/// The program's loudness as operators see it (EBU R128, ITU-R BS.1770-4).
package struct LoudnessStatus: Sendable, Codable, Hashable {
    /// The loudness of the last 400 ms, in LUFS; -120 for silence, and before the first 400 ms.
    package var momentary = -120.0
    /// The loudness of the last 3 s, in LUFS; -120 for silence.
    package var shortTerm = -120.0
    /// The gated loudness since the measurement began, in LUFS; at least -70.
    package var integrated = -70.0
    /// The highest true peak since the measurement began, in dBTP; at least -60.
    package var truePeak = -60.0
}

/// Measures loudness with libavfilter's `ebur128`. Only one thread may use it at a time.
package final class LoudnessMeter {
    private let filter: AudioFilter
    private var status = LoudnessStatus()

    /// Creates a meter for audio of `format`, which must have 48 kHz. True peaks are measured only if `peaks` is true,
    /// because they take most of the computing time.
    package init(format: AudioFormat, peaks: Bool) throws(AVFailure) {
        filter = try AudioFilter(
            "ebur128=metadata=1" + (peaks ? ":peak=true" : ""), format: format, subject: "the program's loudness")
    }

    /// Processes the next audio. Returns one result for each 100 ms of audio that is now complete.
    package func measure(_ audio: AudioBuffer) throws(AVFailure) -> [LoudnessStatus] {
        try filter.push(audio)
        var readings: [LoudnessStatus] = []
        while let frame = try filter.pull() {
            guard let momentary = frame.number("lavfi.r128.M") else { continue }
            status.momentary = max(-120, momentary)
            status.shortTerm = max(-120, frame.number("lavfi.r128.S") ?? -120)
            status.integrated = max(-70, frame.number("lavfi.r128.I") ?? -70)
            let peaks = (0..<2).compactMap { frame.number("lavfi.r128.true_peaks_ch\($0)") }
            // libavfilter gives the peaks as amplitudes with three decimals.
            if let peak = peaks.max() { status.truePeak = max(-60, Decibels.level(amplitude: peak)) }
            readings.append(status)
        }
        return readings
    }
}

/// Converts between levels and amplitudes.
enum Decibels {
    /// Returns the amplitude for a level in decibels.
    static func amplitude(_ level: Double) -> Double { pow(10, level / 20) }
    /// Returns the power for a level in decibels.
    static func power(_ level: Double) -> Double { pow(10, level / 10) }
    /// Returns the level of an amplitude in decibels; at least -120.
    static func level(amplitude: Double) -> Double { max(-120, 20 * log10(max(1e-6, amplitude))) }
    /// Returns the level of a power in decibels; at least -120.
    static func level(power: Double) -> Double { max(-120, 10 * log10(max(1e-12, power))) }
}
