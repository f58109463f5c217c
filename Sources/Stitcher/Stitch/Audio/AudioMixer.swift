// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The audio of the result before it is encoded: the audio of all clips, with their fades. Usually each request
/// continues the previous one; if it does not, the mixer seeks. Used by one thread.
struct AudioMixer {
    private let plan: AudioPlan
    private let format: AudioFormat
    private let sources: [StitchSource]
    private var readers: [Int: AudioReader] = [:]
    /// The end of the last range that was mixed, in samples of the result; nil before the first one.
    private var end: Int64?

    init(_ plan: AudioPlan, _ format: AudioFormat, _ sources: [StitchSource]) {
        (self.plan, self.format, self.sources) = (plan, format, sources)
    }

    /// The mixed samples in `range`.
    mutating func mix(_ range: Range<Int64>) throws -> AudioBuffer {
        if end != range.lowerBound { readers = [:] }
        end = range.upperBound
        var channels = [[Float]](repeating: [Float](repeating: 0, count: range.count), count: format.channels)
        for (index, clip) in plan.clips.enumerated() {
            if clip.heard.upperBound <= range.lowerBound { readers[index] = nil }
            let heard = clip.heard.clamped(to: range)
            guard !heard.isEmpty, let audio = sources[index].audio else { continue }
            let wanted = heard.lowerBound - clip.shift..<heard.upperBound - clip.shift
            let reader =
                try readers[index]
                ?? AudioReader(
                    sources[index], audio, behind: clip.isContinued ? sources[index - 1] : nil, format: format,
                    from: wanted.lowerBound)
            readers[index] = reader
            let samples = try reader.read(wanted)
            let offset = Int(heard.lowerBound - range.lowerBound)
            let factors = clip.isPlain(heard) ? nil : heard.map(clip.factor)
            for (channel, values) in samples.channels.enumerated() {
                for place in values.indices {
                    channels[channel][offset + place] += values[place] * (factors?[place] ?? 1)
                }
            }
        }
        return AudioBuffer(position: range.lowerBound, format: format, channels: channels)
    }
}
