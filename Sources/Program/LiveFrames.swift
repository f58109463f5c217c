// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Stores the waiting frames of a live source, and chooses the frame to show. A frame is assigned to a program frame
/// only when the program reaches it, so that a change of the source's clock mapping in the meantime moves the frame.
/// The captions of a frame that is not shown are shown with the next frame; a repeated frame does not repeat its
/// captions.
struct LiveFrames {
    /// A frame to show.
    struct Choice {
        let frame: VideoFrame
        /// When the frame is due; nil if it was already shown before.
        let newlyDue: Timestamp?
    }

    private var waiting: [VideoFrame] = []
    private var slots: FrameSlots
    /// The frame that was last chosen.
    private(set) var current: VideoFrame?
    /// Captions of frames that were not shown.
    private var captions: [UInt8] = []
    /// The number of frames that were dropped because too many waited, or because they came too late.
    private var lost = 0
    /// The number of times the previous frame was shown again.
    private(set) var repeated = 0
    /// The number of repetitions that happened because the frame that was due had not arrived.
    private(set) var late = 0
    /// The time at which the newest frame that the program has reached was due, and its distance from the frame before.
    private var rhythm: (last: Timestamp, interval: Duration)?

    init(frameRate: FrameRate) { slots = FrameSlots(frameRate: frameRate) }

    /// The number of frames that were never shown.
    var dropped: Int { lost + slots.dropped }
    /// Whether there is nothing to show.
    var isEmpty: Bool { current == nil && waiting.isEmpty }
    /// Whether there are frames that have not been shown yet.
    var isWaiting: Bool { !waiting.isEmpty }
    /// Whether the program's clock follows the source.
    var isReference: Bool {
        get { slots.isReference }
        set { slots.isReference = newValue }
    }

    /// How far the frames of the reference source are after the middle of their program frames: up to half a frame
    /// after a change of the reference, until the clock has adjusted. Frames of other sources are assigned relative to
    /// that, so that frames shown together are simultaneous.
    var referencePhase = Duration.zero

    /// How much media time may wait, at any frame rate: the maximum that a source decodes ahead, which is a second, and
    /// half of that in reserve. At least `least` frames may always wait, because frames of a low rate are far apart.
    private static let (room, least) = (Duration.milliseconds(1500), 16)

    /// Adds a frame with its time on the source's timeline. Drops the oldest frames if too much media time waits, or
    /// more than `limit` frames.
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

    /// The time that a program needs to prepare its first frame, because the frame's audio is decoded only when the
    /// program's clock is known. Without this time, a program on a busy machine would begin with silence.
    private static let notice = Duration.milliseconds(100)

    /// Before the program begins: drops the frames whose time has passed at `now` or comes too soon, except for the
    /// newest one, and returns the time at which the first of the other frames is due. For a source without a buffer,
    /// half of the available time must be enough. `due` returns the time at which a frame is due, or nil while that is
    /// unknown.
    mutating func firstMoment(after now: Timestamp, due: (VideoFrame) -> Timestamp?) -> Timestamp? {
        guard let newest = waiting.last.flatMap(due) else { return nil }
        let earliest = now + min(Self.notice, max(.zero, (newest - now) / 2))
        while let next = waiting.first, let moment = due(next) {
            if moment >= earliest { return moment }
            show(waiting.removeFirst())
        }
        return nil
    }

    /// Returns the frame to show as program frame `index`; nil before the first frame. `due` returns the time at which
    /// a frame is due; `line` converts that time to program time. If the frame is not visible, a repetition does not
    /// count.
    mutating func choose(
        for index: FrameIndex, on line: ClockLine, isSeen: Bool = true, due: (VideoFrame) -> Timestamp?
    ) -> Choice? {
        var newlyDue: Timestamp?
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
        // The program has begun and no frame is due yet: the first frame is shown too early, so that the program has a
        // frame to show.
        guard var frame = current ?? waiting.first else { return nil }
        frame.captions = current?.captions ?? []
        current?.captions = []
        return Choice(frame: frame, newlyDue: newlyDue)
    }

    /// Whether no frame waits, although the next frame would have been due at program frame `index` or earlier if the
    /// source had kept its frame interval.
    private func isOverdue(at index: FrameIndex, on line: ClockLine) -> Bool {
        guard waiting.isEmpty, let rhythm, rhythm.interval > .zero else { return false }
        var trial = slots
        return trial.take(position(of: rhythm.last + rhythm.interval, on: line)).map { $0 <= index } ?? false
    }

    /// Returns the program position of a frame that is due at `moment`, relative to the reference's frames.
    private func position(of moment: Timestamp, on line: ClockLine) -> Timestamp {
        line.image(of: moment) - (isReference ? .zero : referencePhase)
    }

    /// Makes `next` the frame to show, and adds the captions of the frames before it that were not shown.
    private mutating func show(_ next: VideoFrame) {
        let carried = captions + (current?.captions ?? [])
        current = next
        if !carried.isEmpty { current?.captions.insert(contentsOf: carried, at: 0) }
        captions = []
    }
}
