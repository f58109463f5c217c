// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides which frames become IDR frames on request.
///
/// A request for a program time is made where a recording is to be cut, and is always granted. Requests without a time
/// come from outputs; they are merged, and granted at most once per `minimumInterval`, so that a peer that reconnects
/// again and again cannot flood the others with IDR frames.
struct KeyframeSchedule {
    /// Minimum program time between two IDR frames that were requested without a time.
    let minimumInterval: Duration
    private let frameRate: FrameRate
    private var dueFrames: Set<FrameIndex> = []
    private var isWanted = false
    private var lastUnscheduled: FrameIndex?

    init(frameRate: FrameRate, minimumInterval: Duration = .seconds(2)) {
        self.frameRate = frameRate
        self.minimumInterval = minimumInterval
    }

    /// Records a request for the first frame at or after `programTime`; nil means as soon as possible.
    mutating func request(at programTime: Timestamp?) {
        guard let programTime else {
            isWanted = true
            return
        }
        // A microsecond of tolerance: the time of a frame, rounded to nanoseconds, must not select the next frame.
        let due = frameRate.frame(at: programTime - .microseconds(1), rounding: .up)
        // A caller that requests more cuts in advance has a bug; the set must not grow without limit.
        if dueFrames.count < 64 { dueFrames.insert(due) }
    }

    /// Records an IDR frame in the output, requested or not: it fulfills any pending request.
    mutating func noteKeyframe() { isWanted = false }

    /// Whether a request makes frame `index` an IDR frame. Frames come in order.
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
