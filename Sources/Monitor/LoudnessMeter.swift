// SPDX-License-Identifier: Apache-2.0

package import LibAV
package import Media

/// What an operator sees of the program's loudness (EBU R128, ITU-R BS.1770-4).
package struct LoudnessStatus: Sendable, Codable, Hashable {
    /// The loudness of the last 400 ms, in LUFS; -120 for silence, and before 400 ms were measured.
    package var momentary = -120.0
    /// The loudness of the last 3 s, in LUFS.
    package var shortTerm = -120.0
    /// The gated loudness of everything since the program began, in LUFS; -70 at least.
    package var integrated = -70.0
    /// The highest true peak since the program began, in dBTP; -60 at least.
    package var truePeak = -60.0
}

/// Measures the loudness of audio by libavfilter's `ebur128`. Used by one thread at a time.
package final class LoudnessMeter {
    private let filter: AudioFilter
    private var status = LoudnessStatus()

    /// A meter of audio of `format`, at 48 kHz. True peaks take most of the work: without `peaks` they are not measured.
    package init(format: AudioFormat, peaks: Bool) throws(AVFailure) {
        filter = try AudioFilter(
            "ebur128=metadata=1" + (peaks ? ":peak=true" : ""), format: format, subject: "the program's loudness")
    }

    /// Takes the audio that follows, and returns what is known after each 100 ms that became full.
    package func measure(_ audio: AudioBuffer) throws(AVFailure) -> [LoudnessStatus] {
        try filter.push(audio)
        var readings: [LoudnessStatus] = []
        while let frame = try filter.pull() {
            guard let momentary = frame.number("lavfi.r128.M") else { continue }
            status.momentary = max(-120, momentary)
            status.shortTerm = max(-120, frame.number("lavfi.r128.S") ?? -120)
            status.integrated = max(-70, frame.number("lavfi.r128.I") ?? -70)
            let peaks = (0..<2).compactMap { frame.number("lavfi.r128.true_peaks_ch\($0)") }
            // As amplitudes, to three decimals.
            if let peak = peaks.max() { status.truePeak = max(-60, Decibels.level(amplitude: peak)) }
            readings.append(status)
        }
        return readings
    }
}
