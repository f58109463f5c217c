// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Stores frames by program frame, and chooses the frame to show.
///
/// A frame belongs to the program frame that is nearest to its time. Other frame rates, and variable ones, are
/// converted to the program's rate by repeating or dropping frames, both of which are counted. Rounded timestamps may
/// assign two frames to one program frame and none to the next: then the second frame moves to the next program frame,
/// and no frame is lost. The captions of a dropped frame are shown with the next frame; a repeated frame does not
/// repeat its captions.
struct FrameStore {
    private struct Entry {
        let index: FrameIndex
        var frame: VideoFrame
    }

    private var waiting: [Entry] = []
    private var current: Entry?
    private var isCurrentShown = true
    /// The program frame after the end of the last frame.
    private var end: FrameIndex = 0
    /// Frames that were never shown.
    private(set) var dropped = 0
    /// The number of times the previous frame was shown again.
    private(set) var repeated = 0

    /// The frame that was last chosen.
    var shown: VideoFrame? { current?.frame }
    /// The frame that comes next.
    var upcoming: VideoFrame? { waiting.first?.frame }
    /// The number of waiting frames.
    var count: Int { waiting.count }
    /// Whether there is anything to show.
    var isEmpty: Bool { current == nil && waiting.isEmpty }

    /// The program frame after the end of the last stored frame.
    var last: FrameIndex { max(end, (waiting.last?.index ?? current?.index ?? -1) + 1) }

    /// Adds a frame that belongs to program frame `index` and lasts until `end`. A frame that goes back in time is
    /// shown as soon as possible.
    mutating func add(_ frame: VideoFrame, at index: FrameIndex, until end: FrameIndex = 0) {
        self.end = end
        waiting.append(Entry(index: max(index, waiting.last?.index ?? index), frame: frame))
    }

    /// Drops the oldest frames until no more than `limit` remain.
    mutating func trim(to limit: Int) {
        guard waiting.count > limit else { return }
        let lost = waiting.prefix(waiting.count - limit)
        dropped += lost.count
        let captions = lost.flatMap(\.frame.captions)
        waiting.removeFirst(lost.count)
        if !waiting.isEmpty { waiting[0].frame.captions = captions + waiting[0].frame.captions }
    }

    /// Whether the frame for program frame `index` can be chosen before more frames arrive. Three frames are enough to
    /// decide whether two frames in the same program frame can be spread.
    func canChoose(for index: FrameIndex) -> Bool {
        guard let last = waiting.last else { return false }
        return last.index > index || waiting.count >= 3
    }

    /// Whether there is video for `index`: a waiting frame for `index` or later, a waiting frame that was never shown,
    /// or a last frame that still lasts.
    func hasVideo(from index: FrameIndex) -> Bool {
        !waiting.isEmpty || (current != nil && (!isCurrentShown || index < end))
    }

    /// Returns the frame to show as program frame `index`; nil before the first frame.
    mutating func choose(for index: FrameIndex) -> VideoFrame? {
        if let first = waiting.first, first.index <= index {
            replaceCurrent()
            while let next = waiting.first, next.index <= index, waiting.count > 1, waiting[1].index <= index + 1 {
                replaceCurrent()
            }
        } else if current == nil, !waiting.isEmpty {
            // No frame is due yet, but the program has begun: the first frame is shown too early, so that the program
            // has a frame to show.
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
