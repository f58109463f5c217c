// SPDX-License-Identifier: Apache-2.0

package import LibAV
package import Media

/// Keeps audio below -1 dBTP. Uses libavfilter's `alimiter` at four times the sample rate (ITU-R BS.1770-4, annex 2).
///
/// The limiter looks 5 ms ahead, and the conversion of the sample rate also needs later samples. So it returns samples
/// a few milliseconds later. The samples nevertheless keep their positions in the program. Only one thread may use a
/// limiter at a time.
package final class PeakLimiter {
    /// The limit as an amplitude. It is lower than -1 dBTP, because four times oversampling can underestimate a peak
    /// between samples: for signals below 20 kHz by up to 0.47 dB, the factor cos(20/192 Pi) at 48 kHz. So the
    /// amplitude is at most 0.844. The conversion back to the program's sample rate may also raise a peak slightly.
    private static let limit = 0.84

    private let filter: AudioFilter
    private let format: AudioFormat
    /// The filter's delay: how many samples it outputs before the first input sample.
    package let delay: Int
    private var skipped = 0
    private var taken: Int64 = 0
    private var start: Int64?
    private var given: Int64 = 0

    /// Creates a limiter for audio of `format`. It measures the filter's delay, which differs between versions of
    /// libavfilter.
    package init(format: AudioFormat) throws(AVFailure) {
        self.format = format
        delay = try Self.measuredDelay(format)
        filter = try Self.filter(format)
    }

    private static func filter(_ format: AudioFormat) throws(AVFailure) -> AudioFilter {
        try AudioFilter(
            "aresample=\(4 * format.sampleRate),alimiter=limit=\(limit):attack=5:release=100:level=0,"
                + "aresample=\(format.sampleRate),aformat=sample_fmts=fltp",
            format: format, subject: "the program's audio")
    }

    /// Measures the filter's delay in samples: the output position of an impulse minus its input position.
    private static func measuredDelay(_ format: AudioFormat) throws(AVFailure) -> Int {
        let filter = try filter(format)
        let (place, count) = (2400, 9600)
        var impulse = [Float](repeating: 0, count: count)
        impulse[place] = 0.25
        try filter.push(
            AudioBuffer(position: 0, format: format, channels: Array(repeating: impulse, count: format.channels)))
        try filter.push(nil)
        var samples: [[Float]] = Array(repeating: [], count: format.channels)
        while let frame = try filter.pull() { frame.appendSamples(to: &samples) }
        let highest = samples[0].indices.max { samples[0][$0] < samples[0][$1] } ?? place
        return max(0, highest - place)
    }

    /// Processes the next audio, and returns audio that is ready. The returned audio directly follows the audio that
    /// was returned before.
    package func limit(_ audio: AudioBuffer) throws(AVFailure) -> AudioBuffer {
        if start == nil { start = audio.position }
        taken += Int64(audio.count)
        try filter.push(audio)
        return try pull()
    }

    /// Returns the audio that the filter still holds. Together with this audio, as many samples have been returned as
    /// were passed in.
    package func finish() throws(AVFailure) -> AudioBuffer {
        try filter.push(.silence(at: 0, count: delay + 64, format: format))
        try filter.push(nil)
        let rest = try pull()
        return rest.slice(rest.position..<(start ?? 0) + taken)
    }

    private func pull() throws(AVFailure) -> AudioBuffer {
        var samples: [[Float]] = Array(repeating: [], count: format.channels)
        while let frame = try filter.pull() { frame.appendSamples(to: &samples) }
        let skip = min(delay - skipped, samples[0].count)
        skipped += skip
        let position = (start ?? 0) + given
        given += Int64(samples[0].count - skip)
        return AudioBuffer(position: position, format: format, channels: samples.map { Array($0[skip...]) })
    }
}
