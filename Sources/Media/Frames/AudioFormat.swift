// SPDX-License-Identifier: Apache-2.0

/// The format of every audio buffer of a program: planar 32-bit float.
package struct AudioFormat: Sendable, Hashable, Codable {
    /// Samples per second and channel, 8000 to 192000.
    package var sampleRate: Int32
    /// Number of channels, 1 or 2.
    package var channels: Int

    /// A format of `channels` at `sampleRate`.
    package init(sampleRate: Int32, channels: Int) {
        precondition(sampleRate > 0 && channels > 0, "audio has a rate and channels")
        self.sampleRate = sampleRate
        self.channels = channels
    }

    /// 48 kHz stereo, the program's audio.
    package static let program = AudioFormat(sampleRate: 48_000, channels: 2)

    /// The time base in which one sample lasts one tick.
    package var timeBase: TimeBase { TimeBase(1, sampleRate) }
}
