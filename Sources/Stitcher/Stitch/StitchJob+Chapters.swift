// SPDX-License-Identifier: Apache-2.0

internal import MP4
internal import Media

extension StitchJob {
    /// One chapter for each clip; empty for a single clip.
    var chapters: [Chapter] {
        guard plan.clips.count > 1 else { return [] }
        return zip(plan.clips, request.clips).map { planned, clip in
            Chapter(
                start: plan.video.frameRate.timeBase.rescale(Int64(planned.place), to: .nanoseconds)
                    + move(of: planned.source).inNanoseconds,
                title: clip.title ?? Self.name(of: clip.path))
        }
    }

    /// A file's name without its directory and its extension.
    static func name(of path: String) -> String {
        let name = path.split(separator: "/").last ?? ""
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        return String(dot == name.startIndex ? name : name[..<dot])
    }

    /// Appends the chapters to `file` and returns them as samples of a track. Each chapter lasts until the next one,
    /// and the last chapter until the end of `frames`. Nil if there are no chapters, or if players do not support such
    /// a track in this kind of file.
    func chapterTrack(in file: ClipFile, like frames: ClipTrack, timescale: UInt32) throws -> ClipTrack? {
        let chapters = self.chapters.prefix(Chapter.most)
        guard request.form == .mov, !chapters.isEmpty else { return nil }
        let ticks = TimeBase(1, Int32(clamping: timescale))
        var samples: [IndexedSample] = []
        for chapter in chapters {
            let text = SharedBytes(ChapterTrack.sample(chapter))
            let start = TimeBase.nanoseconds.rescale(chapter.start, to: ticks)
            samples.append(
                IndexedSample(
                    dts: start, pts: start, duration: 1, offset: try file.append(text), size: Int64(text.count),
                    isSync: true))
        }
        let end = frames.samples.map { $0.pts + $0.duration }.max() ?? 0
        if let last = samples.indices.last { samples[last].duration = max(1, end - samples[last].pts) }
        return ClipTrack(samples: samples, start: 0)
    }
}
