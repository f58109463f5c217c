// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// Decodes and resamples the audio of a source that can be blocked, such as a file, and places it on the timeline. Used
/// by one thread.
final class AudioTrack {
    let decoder: TrackDecoder
    private let resampler: Resampler
    private let format: AudioFormat
    private let sink: any SourceSink
    private let monitor: SourceMonitor
    /// Whether the source has no video, so that its audio determines the timeline.
    private let leads: Bool
    /// The offset by which audio is placed later than its timestamps, in samples.
    private let offset: Int64
    private var placing: AudioTimeline
    /// A run of samples whose timestamp jumps, and its position by that timestamp. It waits for the next run, which
    /// shows whether the audio jumps or the timestamp is wrong.
    private var doubtful: (frame: DecodedFrame, stated: Int64)?

    /// Whether the decoder is broken, so that there is no audio until the input is opened again.
    private var isGivenUp = false
    /// Whether the last sample of the current round of the loop was delivered, or the track will deliver no more audio.
    private(set) var isFinished = false
    /// The position at which the delivered audio ends, in samples, without ``offset``.
    private(set) var deliveredEnd: Int64 = 0

    init(
        _ decoder: TrackDecoder, format: AudioFormat, options: TrackOptions, leads: Bool, sink: any SourceSink,
        monitor: SourceMonitor, subject: String
    ) {
        self.decoder = decoder
        self.format = format
        self.leads = leads
        self.sink = sink
        self.monitor = monitor
        offset = format.timeBase.ticks(options.audioOffset)
        resampler = Resampler(target: format, subject: subject, channels: options.channels)
        placing = AudioTimeline(sampleRate: format.sampleRate)
    }

    /// Decodes one run of audio samples, and delivers the part of it between the start of the round and `limit`.
    func step(inputEnded: Bool, limit: Int64?, timeline: inout SourceTimeline) -> TrackDecoder.Progress {
        if let limit, let end = placing.end, end >= limit {
            isFinished = true
            return .ended
        }
        let output = decoder.next(inputEnded: inputEnded)
        do throws(AVFailure) {
            switch output {
            case .needsPacket:
                return .needsPacket
            case .failed(let failure):
                return .failed(failure)
            case .ended:
                isFinished = true
                try placeDoubtful(before: nil, limit, &timeline)
                deliver(try resampler.flush(), limit, &timeline)
                return .ended
            case .frame(let frame):
                try take(frame, limit, &timeline)
            }
        } catch {
            doubtful = nil
            placing.reset()
            resampler.start(at: resampler.position)
            monitor.noteConversionFailure(error)
        }
        return isFinished ? .ended : .advanced
    }

    /// Prepares for the next round of the loop, which begins at `start`. If this round has already delivered audio for
    /// times after `start`, silence replaces that audio; the next round's audio then replaces the silence.
    func beginRound(at start: Int64) {
        flush()
        guard deliveredEnd > start else { return }
        // At most 60 s of silence are needed, however long the audio was, because the silence replaces all queued audio
        // from its position on.
        let count = Int(min(deliveredEnd - start, 60 * Int64(format.sampleRate)))
        put(AudioBuffer.silence(at: start, count: count, format: format))
        deliveredEnd = start
    }

    /// Delivers audio at its position, without the part before the start of the source.
    private func put(_ audio: AudioBuffer) {
        var audio = audio
        audio.position += offset
        if audio.position < 0 { audio = audio.slice(0..<max(0, audio.end)) }
        if audio.count > 0 { sink.deliver(audio) }
    }

    /// Drops all packets and audio that were read but not delivered.
    func flush() {
        decoder.flush()
        isFinished = isGivenUp
        forgetPlace()
    }

    /// Ends the track, in this round and in all later rounds.
    func giveUp() {
        isGivenUp = true
        flush()
    }

    private func forgetPlace() {
        doubtful = nil
        placing.reset()
        resampler.start(at: 0)
    }

    private func take(_ frame: DecodedFrame, _ limit: Int64?, _ timeline: inout SourceTimeline) throws(AVFailure) {
        let base = decoder.stream.timeBase
        let pts = decoder.time(of: frame)
        if let pts { timeline.begin(at: pts, in: base) }
        let stated = pts.flatMap { timeline.position(of: $0, in: base, rate: format.timeBase) }
        try placeDoubtful(before: stated, limit, &timeline)
        if let stated, placing.end != nil, case .starts = placing.place(stated: stated) {
            doubtful = (frame, stated)
        } else {
            try place(frame, placing.place(stated: stated), limit, &timeline)
        }
    }

    /// Places the doubtful run, if there is one: by its timestamp, unless the timestamp of the next run, `next`, returns
    /// to where the audio was before. `next` is nil if no run follows, or if it has no timestamp.
    private func placeDoubtful(
        before next: Int64?, _ limit: Int64?, _ timeline: inout SourceTimeline
    ) throws(AVFailure) {
        guard let (frame, stated) = doubtful else { return }
        doubtful = nil
        let isWrong = placing.returns(next, after: length(of: frame), stated: stated)
        try place(frame, isWrong ? .continues : .starts(at: stated), limit, &timeline)
    }

    /// The length of a run, in samples of ``format``.
    private func length(of frame: DecodedFrame) -> Int64 {
        Int64(frame.sampleCount) * Int64(format.sampleRate) / Int64(max(1, frame.sampleRate))
    }

    private func place(
        _ frame: DecodedFrame, _ placement: AudioTimeline.Placement, _ limit: Int64?, _ timeline: inout SourceTimeline
    ) throws(AVFailure) {
        if case .starts(let position) = placement {
            deliver(try resampler.flush(), limit, &timeline)
            resampler.start(at: position)
        }
        let audio = try resampler.convert(frame)
        placing.advance(to: resampler.position + resampler.pending)
        deliver(audio, limit, &timeline)
    }

    private func deliver(_ audio: AudioBuffer, _ limit: Int64?, _ timeline: inout SourceTimeline) {
        let start = timeline.start(in: format.timeBase)
        let end = max(start, limit ?? .max)
        let wanted = audio.position >= start && audio.end <= end ? audio : audio.slice(start..<end)
        guard wanted.count > 0 else { return }
        put(wanted)
        deliveredEnd = max(deliveredEnd, wanted.end)
        if leads { timeline.extend(to: wanted.end, in: format.timeBase) }
    }
}

/// Computes the exact position of each run of decoded audio samples.
///
/// Containers round timestamps (FLV and Matroska to the millisecond), so only the first run is placed by its timestamp.
/// Each further run directly follows the previous run, if its timestamp differs from that position by no more than a
/// tolerance. A larger difference is a real jump of the audio; such a run is placed by its timestamp.
package struct AudioTimeline: Sendable, Hashable {
    /// The position of a run of audio samples.
    package enum Placement: Sendable, Hashable {
        /// Directly after the previous run.
        case continues
        /// At this position, in samples: the run is the first, or the audio jumps.
        case starts(at: Int64)
    }

    /// How far a timestamp is allowed to be from the end of the previous run, in samples.
    package let tolerance: Int64
    /// The position, in samples, at which the audio that was placed so far ends; nil before the first audio and after
    /// ``reset()``.
    package private(set) var end: Int64?

    /// Creates a timeline for audio of `sampleRate`, with a tolerance of 8 ms.
    package init(sampleRate: Int32) { tolerance = Int64(sampleRate) / 125 }

    /// Decides the position of a run whose timestamp is `stated`; nil means that the run has no timestamp.
    package func place(stated: Int64?) -> Placement {
        guard let end else { return .starts(at: stated ?? 0) }
        guard let stated, abs(stated - end) > tolerance else { return .continues }
        return .starts(at: stated)
    }

    /// Whether the timestamp `stated` of a run of `length` samples was wrong, because the timestamp of the run after it,
    /// `next`, is closer to where the audio was before than to where `stated` leads. Also true if no run follows.
    package func returns(_ next: Int64?, after length: Int64, stated: Int64) -> Bool {
        guard let next, let end else { return true }
        return abs(next - (end + length)) < abs(next - (stated + length))
    }

    /// Records that all audio up to `position` is placed.
    package mutating func advance(to position: Int64) { end = position }
    /// Resets the timeline, so that the next run is placed by its timestamp.
    package mutating func reset() { end = nil }
}
