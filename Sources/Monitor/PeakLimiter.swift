// SPDX-License-Identifier: Apache-2.0

package import LibAV
package import Media

/// Keeps audio below -1 dBTP, by libavfilter's `alimiter` at four times the rate (ITU-R BS.1770-4, annex 2).
///
/// The limiter looks 5 ms ahead, so its output is that much later. It is taken out again: the samples that come out keep
/// the places of those that went in, and only come later to be encoded. Used by one thread at a time.
package final class PeakLimiter {
    /// Under -1 dBTP by as much as the way back to the program's rate may add.
    private static let limit = 0.875

    private let filter: AudioFilter
    private let format: AudioFormat
    /// How many samples the filter adds in front.
    package let delay: Int
    private var skipped = 0
    private var taken: Int64 = 0
    private var start: Int64?
    private var given: Int64 = 0

    /// A limiter of audio of `format`. Measures its own delay, which differs between libavfilter's versions.
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

    /// Where an impulse comes out, less where it went in.
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

    /// Takes the audio that follows and returns what is ready, which follows what was ready before.
    package func limit(_ audio: AudioBuffer) throws(AVFailure) -> AudioBuffer {
        if start == nil { start = audio.position }
        taken += Int64(audio.count)
        try filter.push(audio)
        return try pull()
    }

    /// The rest: with it, as many samples came out as went in.
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
