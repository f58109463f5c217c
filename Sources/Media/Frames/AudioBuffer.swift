// SPDX-License-Identifier: Apache-2.0

/// Consecutive audio samples: planar 32-bit floats, one array for each channel, all of the same length.
package struct AudioBuffer: Sendable {
    /// The position of the first sample, in samples of ``format`` since the start of the buffer's timeline.
    package var position: Int64
    /// The sample rate and the number of channels.
    package let format: AudioFormat
    /// One array of samples for each channel.
    package private(set) var channels: [[Float]]

    /// Samples per channel.
    package var count: Int { channels.first?.count ?? 0 }
    /// The position after the last sample.
    package var end: Int64 { position + Int64(count) }

    /// A buffer of `channels`: as many arrays as `format` has channels, all of the same length.
    package init(position: Int64, format: AudioFormat, channels: [[Float]]) {
        precondition(channels.count == format.channels, "one array for each channel")
        precondition(channels.allSatisfy { $0.count == channels[0].count }, "channels of one length")
        self.position = position
        self.format = format
        self.channels = channels
    }

    /// `count` samples of silence.
    package static func silence(at position: Int64, count: Int, format: AudioFormat) -> AudioBuffer {
        let channel = [Float](repeating: 0, count: count)
        return AudioBuffer(
            position: position, format: format, channels: Array(repeating: channel, count: format.channels))
    }

    /// The part of the buffer within `range`, a range of positions; empty if the buffer has no sample in it.
    package func slice(_ range: Range<Int64>) -> AudioBuffer {
        let wanted = range.clamped(to: position..<end)
        let first = Int(wanted.lowerBound - position)
        let last = Int(wanted.upperBound - position)
        return AudioBuffer(
            position: wanted.lowerBound, format: format, channels: channels.map { Array($0[first..<last]) })
    }

    /// Appends the samples of `other`. The position of `other` is ignored.
    package mutating func append(_ other: AudioBuffer) {
        for index in channels.indices { channels[index].append(contentsOf: other.channels[index]) }
    }
}

/// The sample rate and the number of channels of audio. The samples themselves are always planar 32-bit floats.
package struct AudioFormat: Sendable, Hashable, Codable {
    /// Samples per second of each channel; positive.
    package var sampleRate: Int32
    /// Number of channels; positive. Decoded audio has 1 or 2; audio that is passed through may have more.
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
