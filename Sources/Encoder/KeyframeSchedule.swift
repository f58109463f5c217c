// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Decides which frames become IDR frames on request.
///
/// A request for a program time marks a point at which a recording is to be cut. It is granted unless 64 of these
/// requests are pending. Requests without a time come from outputs. They are merged, and granted at most once per
/// `minimumInterval`, so that a peer that reconnects again and again cannot flood the other peers with IDR frames.
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

    /// Records a request for an IDR frame: the first frame at or after `programTime`, or the next possible frame if
    /// `programTime` is nil.
    mutating func request(at programTime: ProgramInstant?) {
        guard let programTime else {
            isWanted = true
            return
        }
        // One microsecond is subtracted as a tolerance: a frame's time is rounded to nanoseconds, and rounding must not
        // select the next frame.
        let due = frameRate.frame(at: programTime - .microseconds(1), rounding: .up)
        // A caller that requests 64 cuts in advance has a bug. The limit keeps the set from growing without end.
        if dueFrames.count < 64 { dueFrames.insert(due) }
    }

    /// Records that the encoder has output an IDR frame, requested or not. This frame fulfills any pending request
    /// without a time.
    mutating func noteKeyframe() { isWanted = false }

    /// Whether frame `index` must become an IDR frame because of a request. Must be called for the frames in order.
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
