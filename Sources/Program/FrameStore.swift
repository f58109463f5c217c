// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Frames by the program frame that they belong to, and the choice of the one to show.
///
/// A frame belongs to the program frame nearest to its own time. Variable and other frame rates become the
/// program's by showing a frame again or leaving one out, both counted. Where two frames fall on one frame and none on
/// the next, as rounded time stamps make them do, the second moves to the next frame and nothing is lost. The captions of
/// a frame that is left out go with the next one, and are not shown again with a frame that is.
struct FrameStore {
    private struct Entry {
        let index: FrameIndex
        var frame: VideoFrame
    }

    private var waiting: [Entry] = []
    private var current: Entry?
    private var isCurrentShown = true
    /// The program frame that follows the last frame's time.
    private var end: FrameIndex = 0
    /// Frames that were never shown.
    private(set) var dropped = 0
    /// Frames for which the frame before was shown again.
    private(set) var repeated = 0

    /// The frame that was chosen last.
    var shown: VideoFrame? { current?.frame }
    /// The frame that comes next.
    var upcoming: VideoFrame? { waiting.first?.frame }
    /// How many frames wait.
    var count: Int { waiting.count }
    /// Whether there is anything to show.
    var isEmpty: Bool { current == nil && waiting.isEmpty }

    /// The program frame behind the last one that there is.
    var last: FrameIndex { max(end, (waiting.last?.index ?? current?.index ?? -1) + 1) }

    /// Adds a frame that belongs to program frame `index` and lasts until `end`. One that goes back in time is shown as
    /// soon as possible.
    mutating func add(_ frame: VideoFrame, at index: FrameIndex, until end: FrameIndex = 0) {
        self.end = end
        waiting.append(Entry(index: max(index, waiting.last?.index ?? index), frame: frame))
    }

    /// Drops the oldest frames until `limit` remain.
    mutating func trim(to limit: Int) {
        guard waiting.count > limit else { return }
        let lost = waiting.prefix(waiting.count - limit)
        dropped += lost.count
        let captions = lost.flatMap(\.frame.captions)
        waiting.removeFirst(lost.count)
        if !waiting.isEmpty { waiting[0].frame.captions = captions + waiting[0].frame.captions }
    }

    /// Whether the choice for program frame `index` can be made without knowing more frames: three decide whether two
    /// that fall together can be spread.
    func canChoose(for index: FrameIndex) -> Bool {
        guard let last = waiting.last else { return false }
        return last.index > index || waiting.count >= 3
    }

    /// Whether a frame for `index` or later, or one never shown, is still to come out, or the last one lasts.
    func hasVideo(from index: FrameIndex) -> Bool {
        !waiting.isEmpty || (current != nil && (!isCurrentShown || index < end))
    }

    /// The frame to show as program frame `index`; nil before the first.
    mutating func choose(for index: FrameIndex) -> VideoFrame? {
        if let first = waiting.first, first.index <= index {
            replaceCurrent()
            while let next = waiting.first, next.index <= index, waiting.count > 1, waiting[1].index <= index + 1 {
                replaceCurrent()
            }
        } else if current == nil, !waiting.isEmpty {
            // Nothing is due yet, but the program has begun: the first frame is shown early rather than nothing.
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
