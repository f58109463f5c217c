// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Stores the waiting frames of a live source, and chooses the frame to show. A frame is assigned to a program frame
/// only when the program reaches its time. Until then, a change of the mapping from source times to program time also
/// moves the frame. The captions of a frame that is not shown are shown with the next frame. A repeated frame does not
/// repeat its captions.
struct LiveFrames {
    /// A frame that was chosen to be shown.
    struct Choice {
        let frame: VideoFrame
        /// When the frame is due on our clock; nil if it was already chosen before, if it is shown before it is due, or
        /// if its source is not live.
        let newlyDue: MonotonicInstant?
    }

    private var waiting: [VideoFrame] = []
    private var slots: FrameSlots
    /// The frame that was chosen last; nil before the first one.
    private(set) var current: VideoFrame?
    /// The captions of frames that were not shown. They are added to the next frame.
    private var captions: [UInt8] = []
    /// The number of frames that were dropped because too many frames waited, or because a newer frame was already due,
    /// too.
    private var lost = 0
    /// How often the frame that was shown last was shown again for a program frame.
    private(set) var repeated = 0
    /// How often the frame that was shown last was shown again because the frame that was due had not arrived.
    private(set) var late = 0
    /// `last` is when the newest frame that the program has reached was due. `interval` is the time between the due
    /// times of the previous frame and of this frame.
    private var rhythm: (last: MonotonicInstant, interval: Duration)?

    init(frameRate: FrameRate) { slots = FrameSlots(frameRate: frameRate) }

    /// The number of frames that were never shown.
    var dropped: Int { lost + slots.dropped }
    /// Whether there is no frame to show: none waits, and none was chosen before.
    var isEmpty: Bool { current == nil && waiting.isEmpty }
    /// Whether frames wait to be shown.
    var isWaiting: Bool { !waiting.isEmpty }
    /// Whether the program's clock follows this source.
    var isReference: Bool {
        get { slots.isReference }
        set { slots.isReference = newValue }
    }

    /// How much later than the beginnings of their program frames the frames of the reference source are due; negative
    /// if earlier. The reference is the source that the program's clock follows. After a change of the reference this
    /// can be up to half a frame, until the clock has adjusted. The frames of the other sources are assigned with the
    /// same shift, so that frames that are shown together were captured together.
    var referencePhase = Duration.zero

    /// `room` is how much media time may wait, at any frame rate: a source decodes at most one second ahead, and half a
    /// second is in reserve. `least` frames may always wait, because at a low frame rate the frames are far apart.
    private static let (room, least) = (Duration.milliseconds(1500), 16)

    /// Adds a frame whose `pts` is a time on the source's timeline. Drops the oldest waiting frames if too much media
    /// time waits, or if more than `limit` frames wait.
    mutating func add(_ frame: VideoFrame, limit: Int) {
        waiting.append(frame)
        let newest = Timestamp(frame.pts, in: frame.timeBase)
        var count = max(0, waiting.count - limit)
        while waiting.count - count > Self.least,
            newest - Timestamp(waiting[count].pts, in: waiting[count].timeBase) > Self.room
        {
            count += 1
        }
        guard count > 0 else { return }
        lost += count
        captions += waiting.prefix(count).flatMap(\.captions)
        waiting.removeFirst(count)
    }

    /// How much time a program gets to prepare its first frame. It needs this time because the audio of the frame is
    /// decoded only when the program's clock is known. Without this time, a program on a busy machine would begin with
    /// silence.
    private static let notice = Duration.milliseconds(100)

    /// Returns when the program should begin: the due time of the first waiting frame that still leaves the program
    /// time to prepare. Frames that are due earlier are removed from the waiting ones, and the newest of them becomes
    /// the frame to show. If the source has little buffer, half of the time until its newest frame is due must be
    /// enough for the preparation. A frame with a wrong timestamp is removed, too, because the program's frames would
    /// begin at a moment that differs from when the source's other frames are due. `due` returns when a frame is due,
    /// or nil while this is unknown. Returns nil if no waiting frame leaves enough time.
    mutating func firstMoment(
        after now: MonotonicInstant, due: (VideoFrame) -> MonotonicInstant?
    ) -> MonotonicInstant? {
        guard let newest = waiting.last.flatMap(due) else { return nil }
        let earliest = now + min(Self.notice, max(.zero, (newest - now) / 2))
        while let next = waiting.first, let moment = due(next) {
            if moment >= earliest, !isAhead(moment, due: due) { return moment }
            show(waiting.removeFirst())
        }
        return nil
    }

    /// How many frames show whether the timestamp of the frame before them is wrong.
    private static let witnesses = 4

    /// Whether the first waiting frame, which is due at `moment`, seems to have a wrong timestamp: two of the next
    /// frames are due earlier, or the next one, and the frames behind the first have the more even intervals. If only a
    /// later frame is due earlier, that frame has the wrong timestamp.
    private func isAhead(_ moment: MonotonicInstant, due: (VideoFrame) -> MonotonicInstant?) -> Bool {
        let next = waiting.dropFirst().prefix(Self.witnesses).compactMap(due)
        let earlier = next.count { $0 < moment }
        guard earlier == 1, next.count > 1 else { return earlier > 0 }
        guard next[0] < moment else { return false }
        guard next.count > 2 else { return true }
        let times = next.map(\.nanoseconds)
        let interval = times[2] - times[1]
        return abs(times[1] - times[0] - interval) <= abs(times[1] - moment.nanoseconds - interval)
    }

    /// Chooses the frame to show as program frame `index`; nil if no frame has arrived yet. `due` returns when a frame
    /// is due on our clock, and `line` converts this moment to program time. If `isSeen` is false, the frame is not
    /// visible, and a repetition is not counted.
    mutating func choose(
        for index: FrameIndex, on line: ProgramClockLine, isSeen: Bool = true,
        due: (VideoFrame) -> MonotonicInstant?
    ) -> Choice? {
        var newlyDue: MonotonicInstant?
        while let next = waiting.first, let moment = due(next) {
            var trial = slots
            let slot = trial.take(position(of: moment, on: line))
            if let slot, slot > index { break }
            slots = trial
            waiting.removeFirst()
            rhythm = (moment, rhythm.map { moment - $0.last } ?? .zero)
            guard slot != nil else {
                captions += next.captions
                continue
            }
            if newlyDue != nil { lost += 1 }
            show(next)
            newlyDue = moment
        }
        if newlyDue == nil, current != nil, isSeen {
            repeated += 1
            if isOverdue(at: index, on: line) { late += 1 }
        }
        // If no frame is due yet, the first waiting frame is shown early, because the program has begun and needs a
        // frame.
        guard var frame = current ?? waiting.first else { return nil }
        frame.captions = current?.captions ?? []
        current?.captions = []
        return Choice(frame: frame, newlyDue: newlyDue)
    }

    /// Whether the source is late at program frame `index`: no frame waits, although the next frame would be due by now
    /// if the source had kept its frame interval.
    private func isOverdue(at index: FrameIndex, on line: ProgramClockLine) -> Bool {
        guard waiting.isEmpty, let rhythm, rhythm.interval > .zero else { return false }
        var trial = slots
        return trial.take(position(of: rhythm.last + rhythm.interval, on: line)).map { $0 <= index } ?? false
    }

    /// Returns the program time of a frame that is due at `moment`, shifted by the phase of the reference source's
    /// frames.
    private func position(of moment: MonotonicInstant, on line: ProgramClockLine) -> ProgramInstant {
        line.image(of: moment) - (isReference ? .zero : referencePhase)
    }

    /// Makes `next` the frame to show, and adds the captions of earlier frames that were not shown.
    private mutating func show(_ next: VideoFrame) {
        let carried = captions + (current?.captions ?? [])
        current = next
        if !carried.isEmpty { current?.captions.insert(contentsOf: carried, at: 0) }
        captions = []
    }
}
