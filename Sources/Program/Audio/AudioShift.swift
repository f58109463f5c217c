// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Stores a source's recent audio by its position in the program, so that the audio can be played with a shift: later
/// than it arrives, or earlier if it was read ahead. When the shift changes, the audio is cross-faded within 10 ms.
struct AudioShift {
    static let fade: Int64 = 480

    private let format: AudioFormat
    private let capacity: Int
    /// The maximum number of samples that are shifted in one step. After the program has been blocked, one frame can be
    /// longer than this.
    private let most: Int64
    private var channels: [[Float]]
    /// By how many samples the audio is played later than it arrives; negative if it is played earlier, nil before the
    /// first audio.
    private(set) var shift: Int64?

    /// Creates a store that is filled with silence.
    init(format: AudioFormat) {
        self.format = format
        most = Int64(format.sampleRate)
        // There must be room for the longest delay, for audio that is read ahead, and for one step of `most` samples.
        capacity = Int(Double(most) * (Fader.latest - Fader.earliest + 1))
        channels = Array(repeating: Array(repeating: 0, count: capacity), count: format.channels)
    }

    /// Adds `audio`, which directly follows the audio that was added before and ends `ahead` samples after `range`.
    /// Returns the samples of `range` twice: `came` without a shift, and `heard` shifted by `wanted` samples. A
    /// positive shift plays audio later. A negative shift plays it earlier, but by at most `ahead` samples.
    mutating func take(
        _ audio: AudioBuffer, _ range: Range<SampleIndex>, ahead: Int64, wanted: Int64
    ) -> (came: AudioBuffer, heard: AudioBuffer) {
        let next = max(wanted, -ahead)
        let old = shift ?? next
        shift = next
        let isPlain = old == 0 && next == 0 && ahead == 0 && audio.position == range.lowerBound.number
        var came = AudioBuffer.silence(at: range.lowerBound.number, count: 0, format: format)
        var heard = came
        var start = range.lowerBound.number
        while start < range.upperBound.number {
            let end = min(range.upperBound.number, start + most)
            keep(
                audio.slice(
                    start == range.lowerBound.number ? audio.position..<end + ahead : start + ahead..<end + ahead))
            if !isPlain {
                came.append(kept(start..<end, shift: 0))
                var part = kept(start..<end, shift: next)
                if start == range.lowerBound.number, old != next { cross(from: old, to: &part) }
                heard.append(part)
            }
            start = end
        }
        return isPlain ? (audio, audio) : (came, heard)
    }

    private mutating func keep(_ audio: AudioBuffer) {
        for channel in channels.indices {
            var place = Int(audio.position % Int64(capacity))
            for sample in audio.channels[channel] {
                channels[channel][place] = sample
                place = place + 1 == capacity ? 0 : place + 1
            }
        }
    }

    /// Returns the stored samples of the positions in `range` minus `shift`, to be played in `range`.
    private func kept(_ range: Range<Int64>, shift: Int64) -> AudioBuffer {
        let first = range.lowerBound - shift
        let samples = channels.map { channel in
            (first..<first + Int64(range.count)).map { $0 < 0 ? 0 : channel[Int($0 % Int64(capacity))] }
        }
        return AudioBuffer(position: range.lowerBound, format: format, channels: samples)
    }

    /// Replaces the beginning of `part` by a cross-fade from the audio with the previous shift `old`.
    private func cross(from old: Int64, to part: inout AudioBuffer) {
        let count = Int(min(Self.fade, Int64(part.count)))
        let before = kept(part.position..<part.position + Int64(count), shift: old)
        let mixed = zip(part.channels, before.channels).map { new, old in
            new.indices.map { index -> Float in
                guard index < count else { return new[index] }
                let share = Float(index + 1) / Float(count)
                return old[index] * (1 - share) + new[index] * share
            }
        }
        part = AudioBuffer(position: part.position, format: part.format, channels: mixed)
    }
}
