// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import MP4
internal import Media

/// Files that hold more than they show: what a source sent, cut where there was no keyframe.
extension ClipSource {
    private var isTrimmed: Bool { position?.isTrimmed == true }

    /// How far the file's first frame lies from that of `before`, in ticks of the video, where both say it and are parts of what
    /// was sent; such frames have no length that could be counted.
    func distance(from before: ClipSource) -> Int64? {
        guard isTrimmed, before.isTrimmed, let start = position, let other = before.position, start.run == other.run
        else { return nil }
        return TimeBase.nanoseconds.rescale(start.programStart - other.programStart, to: videoBase)
    }

    /// `sources` without the samples that the file before holds, too: one behind the other they are what was sent.
    static func joined(_ sources: [ClipSource]) -> [ClipSource] {
        sources.enumerated().map { index, source in
            index > 0 ? source.behind(sources[index - 1]) : source
        }
    }

    private func behind(_ before: ClipSource) -> ClipSource {
        guard let distance = distance(from: before), let last = before.video.map(\.dts).max() else { return self }
        var source = self
        source.video.removeAll { $0.dts + distance <= last + frameDuration / 2 }
        // A file that lost so much is not what follows.
        guard !source.video.isEmpty, source.video.count < video.count else { return self }
        if let end = before.audio.last.map({ $0.pts + $0.duration }) {
            let distance = videoBase.rescale(distance, to: audioBase)
            source.audio.removeAll { $0.pts + $0.duration / 2 + distance < end }
            source.audioStart = source.audio.first?.pts ?? source.audioStart
        }
        return source
    }
}
