// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Stores the audio that a source has delivered, by position. The stored audio consists of pieces, called runs, in
/// order of position. Between two runs, audio is missing.
struct AudioStore {
    private let format: AudioFormat
    private var runs: [AudioBuffer] = []
    /// The position, in samples, after the last sample that was taken or skipped. Audio before this position is too
    /// late and is not added.
    private(set) var consumed: Int64 = 0

    init(format: AudioFormat) { self.format = format }

    /// The position, in samples, after the last stored sample; ``consumed`` if nothing is stored.
    var end: Int64 { max(consumed, runs.last?.end ?? consumed) }

    /// Adds `audio`. All stored audio from the position of `audio` on is replaced. Samples before ``consumed`` are too
    /// late and are dropped. Returns how many samples were dropped or replaced.
    mutating func add(_ audio: AudioBuffer) -> Int {
        var lost = 0
        let fresh = audio.slice(max(audio.position, consumed)..<max(audio.end, consumed))
        lost += audio.count - fresh.count
        guard fresh.count > 0 else { return lost }
        while let last = runs.last, last.end > fresh.position {
            runs.removeLast()
            let kept = last.slice(last.position..<max(last.position, fresh.position))
            lost += last.count - kept.count
            if kept.count > 0 {
                runs.append(kept)
                break
            }
        }
        runs.append(fresh)
        return lost
    }

    /// Moves the stored audio to positions that are later by `samples`, or earlier if `samples` is negative. Returns
    /// how many samples were dropped because they are too late then.
    mutating func move(by samples: Int64) -> Int {
        let held = runs
        runs = []
        var lost = 0
        for var run in held {
            run.position += samples
            lost += add(run)
        }
        return lost
    }

    /// Removes the samples from ``consumed`` up to `end` and returns them, with silence in place of missing samples.
    /// Also returns the number of missing samples.
    mutating func take(upTo end: Int64) -> (audio: AudioBuffer, silence: Int) {
        let range = consumed..<max(consumed, end)
        var channels = Array(repeating: [Float](), count: format.channels)
        for index in channels.indices { channels[index].reserveCapacity(range.count) }
        var position = range.lowerBound
        var silence = 0
        for run in runs where run.position < range.upperBound {
            let part = run.slice(range)
            silence += Self.pad(&channels, by: part.position - position)
            for index in channels.indices { channels[index].append(contentsOf: part.channels[index]) }
            position = part.end
        }
        silence += Self.pad(&channels, by: range.upperBound - position)
        drop(before: range.upperBound)
        consumed = range.upperBound
        return (AudioBuffer(position: range.lowerBound, format: format, channels: channels), silence)
    }

    /// Drops the audio before `position`, because this audio will not be played. Does nothing if `position` is not
    /// after ``consumed``.
    mutating func skip(to position: Int64) {
        guard position > consumed else { return }
        drop(before: position)
        consumed = position
    }

    private mutating func drop(before position: Int64) {
        let gone = runs.prefix { $0.end <= position }.count
        runs.removeFirst(gone)
        if let first = runs.first, first.position < position { runs[0] = first.slice(position..<first.end) }
    }

    private static func pad(_ channels: inout [[Float]], by count: Int64) -> Int {
        guard count > 0 else { return 0 }
        let silence = repeatElement(Float(0), count: Int(count))
        for index in channels.indices { channels[index].append(contentsOf: silence) }
        return Int(count)
    }
}
