// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Media
internal import Synchronization

/// Measures the level of a source's audio: the sample peak of each channel. Without a new peak, the reading falls by 20
/// dB per second. Any thread may use a meter.
package final class LevelMeter: Sendable {
    /// How fast the reading falls, in dB per second. A digital peak level meter by IEC 60268-18 falls more slowly: by
    /// 20 dB in 1.7 s.
    private static let fall = 20.0
    /// The lowest reading, which stands for silence, in dBFS.
    package static let floor = -90.0

    private let peaks = Mutex<[Float]>([])

    /// Creates a meter without a reading.
    package init() {}

    /// The present peak of each channel, in dBFS; empty before the first audio.
    package var levels: [Double] {
        peaks.withLock { $0 }.map { $0 > 0 ? max(Self.floor, 20 * log10(Double($0))) : Self.floor }
    }

    /// Lowers the reading by 20 dB for each of the `seconds` seconds in which there was no audio.
    func fall(for seconds: Double) {
        let decay = Self.decay(over: seconds)
        peaks.withLock { peaks in
            for index in peaks.indices { peaks[index] *= decay }
        }
    }

    private static func decay(over seconds: Double) -> Float { Float(pow(10, -fall / 20 * seconds)) }

    /// Measures the peaks of `audio` after multiplication by `gain`.
    func note(_ audio: AudioBuffer, gain: Float) {
        let decay = Self.decay(over: Double(audio.count) / Double(audio.format.sampleRate))
        let heard = audio.channels.map { channel in
            var peak: Float = 0
            for sample in channel { peak = max(peak, abs(sample)) }
            return peak * gain
        }
        peaks.withLock { peaks in
            if peaks.count != heard.count { peaks = heard.map { _ in 0 } }
            for index in heard.indices { peaks[index] = max(heard[index], peaks[index] * decay) }
        }
    }
}
