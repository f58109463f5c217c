// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides which frames become IDR frames on request.
///
/// A request for a program time belongs to a recording's cut and is always met. Requests without a time come from
/// outputs; they are merged, and served at most once in `minimumInterval`, so that a flapping peer cannot flood
/// the others with IDR frames.
struct KeyframeSchedule {
    /// Shortest program time between two IDR frames forced without a given time.
    let minimumInterval: Duration
    private let frameRate: FrameRate
    private var dueFrames: Set<FrameIndex> = []
    private var isWanted = false
    private var lastUnscheduled: FrameIndex?

    init(frameRate: FrameRate, minimumInterval: Duration = .seconds(2)) {
        self.frameRate = frameRate
        self.minimumInterval = minimumInterval
    }

    /// Notes a request for the first frame at or after `programTime`; nil for as soon as possible.
    mutating func request(at programTime: Timestamp?) {
        guard let programTime else {
            isWanted = true
            return
        }
        // A microsecond of grace: a frame's own time, rounded to nanoseconds, must not ask for the frame behind it.
        let due = frameRate.frame(at: programTime - .microseconds(1), rounding: .up)
        // More cuts than this ahead of time are a fault of the caller and must not grow without bound.
        if dueFrames.count < 64 { dueFrames.insert(due) }
    }

    /// Notes that an IDR frame came out, requested or not: it fulfills any pending request.
    mutating func noteKeyframe() { isWanted = false }

    /// Whether frame `index` must be an IDR frame because of a request. Frames come in order.
    mutating func isKeyframeDue(at index: FrameIndex) -> Bool {
        let scheduled = dueFrames.filter { $0 <= index }
        dueFrames.subtract(scheduled)
        if !scheduled.isEmpty {
            isWanted = false
            return true
        }
        guard isWanted else { return false }
        if let lastUnscheduled, index - lastUnscheduled < frameRate.frames(atLeast: minimumInterval) { return false }
        isWanted = false
        lastUnscheduled = index
        return true
    }
}
