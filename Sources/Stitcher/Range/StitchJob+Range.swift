// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import MP4
internal import Media

/// The report of a job that exports a range of recordings.
extension StitchJob {
    /// The report of the range; nil for clips.
    package var rangeReport: ClipReport? {
        guard let range else { return nil }
        func milliseconds(_ ticks: Int64) -> Int64 {
            sources[0].video.timeBase.rescale(max(0, ticks), to: .milliseconds)
        }
        return ClipReport(
            start: start(of: range).extended,
            milliseconds: milliseconds(range.shown.upperBound - range.shown.lowerBound),
            widenedStart: milliseconds(range.wanted.lowerBound - range.shown.lowerBound),
            widenedEnd: milliseconds(range.shown.upperBound - range.wanted.upperBound),
            copiedFrames: plan.copiedFrames, encodedFrames: plan.frameCount - plan.copiedFrames, files: sources.count,
            gaps: range.gaps, audioOffset: audioOffset)
    }

    /// The time from the beginning of the first frame to the beginning of the audio, in nanoseconds; nil if the audio
    /// does not begin with a copied packet.
    package var audioOffset: Int64? {
        guard let heard, case .copied(let clip, let packets) = heard.spans.first else { return nil }
        return sources[clip].audioBase.rescale(
            sources[clip].packets[packets.lowerBound].pts + heard.clips[clip].shift, to: .nanoseconds)
    }

    /// The wall-clock time at which the first frame of `range` was on air.
    private func start(of range: RangePlan) -> UTCTime {
        let first = sources[0].video.timeBase.rescale(range.shown.lowerBound, to: .milliseconds)
        return UTCTime(milliseconds: sources[0].start + first)
    }

    /// The layout of the exported file, with the same tracks as the recordings; nil for clips.
    func rangeLayout(hasAudio: Bool) -> MovieLayout? {
        guard let range, let recording = sources.first?.recording else { return nil }
        let tags = MovieTags(
            channel: recording.channel, start: start(of: range), encoderSettings: recording.encoderSettings,
            version: request.version)
        let tracks = recording.tracks.filter { $0.kind == .video || hasAudio }
        return MovieLayout(
            timescale: tracks.last?.timescale ?? 1, creationTime: tags.secondsSince1904, tracks: tracks,
            userData: tags.box)
    }
}
