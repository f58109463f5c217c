// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The frames of a live source that wait, and the choice of the one to show. A frame is placed when the program comes to
/// it and not before, so what moves the source's map meanwhile moves the frame. The captions of a frame that is not shown go
/// with the next one, and are not shown again with a frame that is.
struct LiveFrames {
    /// A frame to show.
    struct Choice {
        let frame: VideoFrame
        /// When the frame is due, if it is shown for the first time.
        let newlyDue: Timestamp?
    }

    private var waiting: [VideoFrame] = []
    private var slots: FrameSlots
    /// The frame that was chosen last.
    private(set) var current: VideoFrame?
    /// Captions of frames that were left out.
    private var captions: [UInt8] = []
    /// Frames that were pushed out, or came too late to be shown.
    private var lost = 0
    /// Frames for which the previous frame was shown again.
    private(set) var repeated = 0
    /// Repeated frames for which the frame that was due had not arrived.
    private(set) var late = 0
    /// When the newest frame that the program came to is due, and by how much later than the one before.
    private var rhythm: (last: Timestamp, interval: Duration)?

    init(frameRate: FrameRate) { slots = FrameSlots(frameRate: frameRate) }

    /// Frames that were never shown.
    var dropped: Int { lost + slots.dropped }
    /// Whether there is nothing to show.
    var isEmpty: Bool { current == nil && waiting.isEmpty }
    /// Whether there are frames that were not shown yet.
    var isWaiting: Bool { !waiting.isEmpty }
    /// Whether the program's clock follows the source.
    var isReference: Bool {
        get { slots.isReference }
        set { slots.isReference = newValue }
    }

    /// How far the frames of the source that the program's clock follows lie behind the middle of their ticks: after another
    /// one was followed up to half a frame, for as long as the clock takes to come there. What is shown with them is placed
    /// from there, too, so that it is of the same moment.
    var referencePhase = Duration.zero

    /// How much media time may wait, at whatever rate: what a source decodes ahead at most, a second, and half of that. Some
    /// frames wait in any case: those of a low rate lie far apart.
    private static let (room, least) = (Duration.milliseconds(1500), 16)

    /// Adds a frame with its time on the source's timeline, and pushes out the oldest where too much time waits, or more
    /// frames than `limit`.
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

    /// The time that a program needs to prepare its first frame: the frame's audio is decoded when the program's clock
    /// is known. Without this time a busy machine began with silence.
    private static let notice = Duration.milliseconds(100)

    /// Before the program begins: drops the frames whose time has passed at `now` or comes too soon, except for the
    /// newest one, and returns when the first of the others is due. For a source that is shown as soon as it comes,
    /// half of the available time has to be enough. `due` says when a frame is due, nil while that is not known.
    mutating func firstMoment(after now: Timestamp, due: (VideoFrame) -> Timestamp?) -> Timestamp? {
        guard let newest = waiting.last.flatMap(due) else { return nil }
        let earliest = now + min(Self.notice, max(.zero, (newest - now) / 2))
        while let next = waiting.first, let moment = due(next) {
            if moment >= earliest { return moment }
            show(waiting.removeFirst())
        }
        return nil
    }

    /// The frame to show as program frame `index`; nil before the first. `due` is as above; `line` is the program's
    /// time against the clock of those moments. A frame that is not seen does not count as a repetition.
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
        // The program has begun and nothing is due yet: the first frame is shown early rather than nothing.
        guard var frame = current ?? waiting.first else { return nil }
        frame.captions = current?.captions ?? []
        current?.captions = []
        return Choice(frame: frame, newlyDue: newlyDue)
    }

    /// Whether no frame waits, although the next one would be shown at frame `index` or before if the source kept its
    /// rhythm.
    private func isOverdue(at index: FrameIndex, on line: ClockLine) -> Bool {
        guard waiting.isEmpty, let rhythm, rhythm.interval > .zero else { return false }
        var trial = slots
        return trial.take(position(of: rhythm.last + rhythm.interval, on: line)).map { $0 <= index } ?? false
    }

    /// The position in the program of what is due at `moment`, relative to the reference's frames.
    private func position(of moment: Timestamp, on line: ClockLine) -> Timestamp {
        line.image(of: moment) - (isReference ? .zero : referencePhase)
    }

    /// Makes `next` the frame to show, with the captions of those that were not shown before it.
    private mutating func show(_ next: VideoFrame) {
        let carried = captions + (current?.captions ?? [])
        current = next
        if !carried.isEmpty { current?.captions.insert(contentsOf: carried, at: 0) }
        captions = []
    }
}
