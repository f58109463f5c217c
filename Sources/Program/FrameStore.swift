// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Stores the frames of a source that can wait, by program frame, and chooses the frame to show.
///
/// A frame belongs to the program frame that is nearest to its time. If the source's frame rate is different or
/// variable, frames are repeated or dropped. Both are counted. If timestamps are rounded, two frames may belong to one
/// program frame, and no frame to the next one. The second frame then moves to the next program frame, so that no frame
/// is lost. The captions of a dropped frame are shown with the next frame. A repeated frame does not repeat its
/// captions.
struct FrameStore {
    private struct Entry {
        let index: FrameIndex
        var frame: VideoFrame
    }

    private var waiting: [Entry] = []
    private var current: Entry?
    private var isCurrentShown = true
    /// The first program frame after the end of the last stored frame.
    private var end: FrameIndex = 0
    /// The number of frames that were never shown.
    private(set) var dropped = 0
    /// How often the frame that was shown last was shown again for a program frame.
    private(set) var repeated = 0

    /// The frame that was chosen last; nil before the first one.
    var shown: VideoFrame? { current?.frame }
    /// The next waiting frame; nil if no frame waits.
    var upcoming: VideoFrame? { waiting.first?.frame }
    /// The number of frames that wait to be shown.
    var count: Int { waiting.count }
    /// Whether there is no frame to show: none waits, and none was chosen before.
    var isEmpty: Bool { current == nil && waiting.isEmpty }

    /// The first program frame after the last stored frame, which lasts for at least one program frame.
    var last: FrameIndex { max(end, (waiting.last?.index ?? current?.index ?? -1) + 1) }

    /// Adds a frame that belongs to program frame `index` and lasts until program frame `end`. If `index` is earlier
    /// than that of the previous frame, the new frame is shown as soon as possible.
    mutating func add(_ frame: VideoFrame, at index: FrameIndex, until end: FrameIndex = 0) {
        self.end = end
        waiting.append(Entry(index: max(index, waiting.last?.index ?? index), frame: frame))
    }

    /// Drops the oldest waiting frames until no more than `limit` wait.
    mutating func trim(to limit: Int) {
        guard waiting.count > limit else { return }
        let lost = waiting.prefix(waiting.count - limit)
        dropped += lost.count
        let captions = lost.flatMap(\.frame.captions)
        waiting.removeFirst(lost.count)
        if !waiting.isEmpty { waiting[0].frame.captions = captions + waiting[0].frame.captions }
    }

    /// Whether the frame for program frame `index` can be chosen now, without waiting for more frames. Three waiting
    /// frames are always enough: they show whether one of two frames for the same program frame can move to the next
    /// one.
    func canChoose(for index: FrameIndex) -> Bool {
        guard let last = waiting.last else { return false }
        return last.index > index || waiting.count >= 3
    }

    /// Whether there is video for program frame `index` or later: a frame waits, or the chosen frame was not shown yet,
    /// or the chosen frame lasts beyond the beginning of `index`.
    func hasVideo(from index: FrameIndex) -> Bool {
        !waiting.isEmpty || (current != nil && (!isCurrentShown || index < end))
    }

    /// Chooses the frame to show as program frame `index`; nil if no frame has been stored yet.
    mutating func choose(for index: FrameIndex) -> VideoFrame? {
        if let first = waiting.first, first.index <= index {
            replaceCurrent()
            while let next = waiting.first, next.index <= index, waiting.count > 1, waiting[1].index <= index + 1 {
                replaceCurrent()
            }
        } else if current == nil, !waiting.isEmpty {
            // No frame is due yet, but the program has begun and needs a frame to show. So the first frame is shown
            // early.
            replaceCurrent()
        } else if current != nil {
            repeated += 1
        }
        isCurrentShown = true
        defer { current?.frame.captions = [] }
        return current?.frame
    }

    private mutating func replaceCurrent() {
        if !isCurrentShown { dropped += 1 }
        let captions = current?.frame.captions ?? []
        current = waiting.removeFirst()
        if !captions.isEmpty { current?.frame.captions.insert(contentsOf: captions, at: 0) }
        isCurrentShown = false
    }
}
