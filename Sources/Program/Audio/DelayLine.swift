// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Keeps what a source delivered last, so that it can be heard later. Another delay is faded into within 10 ms.
struct DelayLine {
    private static let fade = 480

    private let capacity: Int
    private var channels: [[Float]]
    /// Where the next sample goes.
    private var next = 0
    /// How many samples later its audio is heard.
    private(set) var delay: Int

    /// A line that has kept nothing: silence. Its audio is `delay` samples late from the beginning.
    init(format: AudioFormat, delay: Int) {
        // As much again as the longest delay's rest, so that a frame of samples fits behind it.
        let rate = Int(format.sampleRate)
        capacity = rate * (Int(Fader.longestDelay) + 1)
        channels = Array(repeating: Array(repeating: 0, count: capacity), count: format.channels)
        self.delay = min(max(0, delay), rate * Int(Fader.longestDelay))
    }

    /// Takes `audio`, and gives what came `delay` samples earlier in its place.
    mutating func push(_ audio: AudioBuffer, delay wanted: Int) -> AudioBuffer {
        // After a standstill of the program it is as long as that.
        let most = capacity / 3
        guard audio.count > most else { return pushPart(audio, delay: wanted) }
        var whole = AudioBuffer.silence(at: audio.position, count: 0, format: audio.format)
        var start = audio.position
        while start < audio.end {
            let end = min(audio.end, start + Int64(most))
            whole.append(pushPart(audio.slice(start..<end), delay: wanted))
            start = end
        }
        return whole
    }

    private mutating func pushPart(_ audio: AudioBuffer, delay wanted: Int) -> AudioBuffer {
        let start = next
        for channel in channels.indices where channel < audio.channels.count {
            var position = start
            for sample in audio.channels[channel] {
                channels[channel][position] = sample
                position = position + 1 == capacity ? 0 : position + 1
            }
        }
        next = (start + audio.count) % capacity
        let old = delay
        delay = min(max(0, wanted), capacity - capacity / 3)
        if old == 0, delay == 0 { return audio }
        var delayed = audio.channels
        let fade = old == delay ? 0 : min(Self.fade, audio.count)
        for channel in delayed.indices where channel < channels.count {
            for index in 0..<audio.count {
                let later = kept(channel, start + index - delay)
                guard index < fade else {
                    delayed[channel][index] = later
                    continue
                }
                let part = Float(index + 1) / Float(fade)
                delayed[channel][index] = kept(channel, start + index - old) * (1 - part) + later * part
            }
        }
        return AudioBuffer(position: audio.position, format: audio.format, channels: delayed)
    }

    private func kept(_ channel: Int, _ position: Int) -> Float {
        let place = position < 0 ? position + capacity : position
        return channels[channel][place >= capacity ? place - capacity : place]
    }
}
