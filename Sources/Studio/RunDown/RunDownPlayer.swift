// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Program
package import Status

/// Plays a ``RunDown``: computes for each frame of a program the actions that begin with it. The player has no clock,
/// so that the same plan can be played on air and rendered faster than real time; its actions depend only on frame
/// numbers and on reported events.
///
/// The user of the player calls ``tick(_:)`` before each frame is made, and carries out the actions, in their order. An
/// operator's command takes effect at the next call.
///
///     idle ── start ──▶ running ── end ──▶ over
///                        │  ▲
///              cut, hold ▼  │ resume, follow, next
///                        held
///
/// While the run-down is held, its time and its files continue to advance, even if they are not visible, so that
/// `follow` can continue at the position that the run-down would have reached by now; the position of the hold is kept
/// for `resume`.
package struct RunDownPlayer: Sendable {
    /// Identifies one use of a file.
    package struct ClipID: Sendable, Hashable, Comparable {
        let number: Int
        package static func < (left: ClipID, right: ClipID) -> Bool { left.number < right.number }
    }

    /// A view that goes on air, with its file, audio and transition.
    package struct Showing: Sendable, Equatable {
        package var view: RunDown.View
        /// The file to which the layout refers as ``RunDown/clipName``.
        package var clip: ClipID?
        package var audio: RunDown.Audio
        package var change: RunDown.Change
        package var frames: Int64
    }

    /// An action that the user of the player carries out.
    package enum Action: Sendable, Equatable {
        /// Open a file and prepare its first frames, so that it can begin at any frame.
        case prepare(ClipID, RunDown.Clip)
        /// Begin the file: its first frame becomes this frame of the program, whether it is visible or not.
        case start(ClipID, at: FrameIndex)
        /// Put this view on air.
        case show(Showing, at: FrameIndex)
        /// Release the file, which is not needed any more.
        case release(ClipID)
        /// Report that a segment is skipped.
        case skip(segment: Int, reason: String)
    }

    /// The state of the player.
    package typealias State = RunDownStatus.State

    /// The reason why a command cannot be carried out now.
    package enum Refusal: Error, Equatable, CustomStringConvertible {
        case notRunning
        case notHeld
        /// There is no segment with this number; `of` is the number of segments.
        case noSegment(Int, of: Int)

        package var description: String {
            switch self {
            case .notRunning: "The run-down is not running."
            case .notHeld: "The run-down is not held."
            case .noSegment(let number, let count):
                "The run-down has no segment \(number). There are \(count), from 0 to \(count - 1)."
            }
        }
    }

    struct ClipState: Sendable {
        enum Opening: Sendable, Equatable {
            case opening, ready
            case failed(String)
        }

        /// The position in the file at which playing begins.
        let start: Duration
        var opening = Opening.opening
        var started: FrameIndex?
        /// The first program frame after the file's video and audio have ended; nil until it is known.
        var end: FrameIndex?
        /// The number of frames from the position ``start`` on; nil if the container does not contain it.
        var frames: Int64?
    }

    /// The segment that follows the current one, and the file that is prepared for it.
    struct Upcoming: Sendable {
        var segment: Int
        var pass: Int64
        var clip: ClipID?
        /// The position at which the run-down continues after a hold, and the frame at which the hold began. It is nil
        /// unless another scene was on air instead of the held segment.
        var resumed: (place: RunDownPlace, heldAt: FrameIndex)?
    }

    /// The segment that is tried next after no file could be opened, and the frame at which it is tried.
    struct Rest: Sendable {
        let segment: Int
        let pass: Int64
        let until: FrameIndex
    }

    /// The position at which the run-down was held, and the frame at which the hold began.
    struct Held: Sendable {
        var place: RunDownPlace
        let frame: FrameIndex
        /// Whether another scene is on air instead of the held segment.
        var isCutAway = false
        /// The segment's file, opened once more at the position of the hold; nil unless another scene is on air, and
        /// nil for a segment without a file.
        var again: ClipID?
    }

    package let runDown: RunDown
    let rate: FrameRate
    package internal(set) var state = State.idle
    var place: RunDownPlace?
    var upcoming: Upcoming?
    /// The segment that is tried next after no file could be opened; nil otherwise. It is set only while `upcoming` is
    /// nil.
    var rest: Rest?
    var held: Held?
    /// Whether the next segment must begin at the next frame.
    var isDue = false
    /// Whether the next segment is late because its file is not ready.
    var isWaiting = false
    /// Whether the next segment is held as soon as it becomes visible. Set only while the player is running.
    var holdsNext = false
    var isOver = false
    var clips: [ClipID: ClipState] = [:]
    /// The file in the scene on air. `fading` contains the files that are fading out.
    var aired: ClipID?
    var fading: [(clip: ClipID, until: FrameIndex)] = []
    /// The maximum number of files that fade out at the same time. If segments are shorter than their transitions, each
    /// transition interrupts the previous one, and without a limit the number of files would grow as long as the show
    /// lasts.
    private static let mostFading = 8
    /// The view that went on air last, and the path of the file in that view.
    var shown: (layout: SceneLayout, path: String?)?
    /// How many views of the current segment were shown before the view that is on air.
    var view: Int64 = 0
    /// The changes that an operator has scheduled, by frame.
    var cuts: [(frame: FrameIndex, fade: Int64)] = []
    var clipCount = 0
    /// The number of frames by which segments began late because their files were not ready.
    var lateFrames: Int64 = 0
    /// The number of segments that were skipped in a row.
    var skipped = 0
    /// Segments that are skipped whenever they are due, with the reasons, until an operator starts one of them.
    package private(set) var barred: [Int: String] = [:]
    /// The reason why a segment was last skipped or ended early.
    package internal(set) var failure: String?
    var actions: [Action] = []

    /// Creates a player of `runDown` for a program with this frame rate. The run-down has not begun.
    package init(_ runDown: RunDown, rate: FrameRate) { (self.runDown, self.rate) = (runDown, rate) }

    /// Returns the actions that begin with `frame`. Frames must be passed in order, but some can be left out. A second
    /// call for the same frame does not return the same actions again.
    package mutating func tick(_ frame: FrameIndex) -> [Action] {
        for cut in cuts where cut.frame <= frame { cutAway(at: cut.frame, fade: cut.fade) }
        cuts.removeAll { $0.frame <= frame }
        if state == .running || state == .held {
            while !isOver, let due = due(by: frame), begin(due, at: frame) {}
            if state == .running, let place { turn(place, at: frame) }
        }
        collect(frame)
        defer { actions = [] }
        // If several views are put on air at `frame`, only the last of them becomes visible. The other actions are
        // removed.
        let last = actions.lastIndex(where: \.isShow)
        return actions.enumerated().filter { !$1.isShow || $0 == last }.map(\.element)
    }

    /// The number of the segment that is running, held, or being opened; nil if the run-down is idle or over.
    package var currentSegment: Int? {
        switch state {
        case .idle, .over: nil
        case .running: place?.segment ?? upcoming?.segment ?? rest?.segment
        case .held: held?.place.segment ?? place?.segment ?? upcoming?.segment
        }
    }

    /// Whether no file can be opened, so that the player retries later.
    package var isResting: Bool { rest != nil }

    // MARK: Reports from the user of the player

    /// Skips a segment from now on, even if it was started but has not begun yet. Its file is not decoded.
    package mutating func bar(_ segment: Int, because reason: String) { barred[segment] = reason }

    /// Allows a segment to be played again.
    mutating func unbar(_ segment: Int) { barred[segment] = nil }

    /// Whether the run-down is held, or will be held when its next segment begins; and whether another scene has
    /// replaced it on air.
    package var hold: (isHeld: Bool, isCutAway: Bool) {
        (state == .held || holdsNext, state == .held && held?.isCutAway == true)
    }

    /// Reports that a file was opened and its first frames are ready. `frames` is the number of frames from its start
    /// position on, if the container gives it.
    package mutating func ready(_ clip: ClipID, frames: Int64? = nil) {
        clips[clip]?.opening = .ready
        clips[clip]?.frames = frames
    }

    /// Reports that `frame` is the first program frame after a file's video and audio have ended. A `fault` means that
    /// the file ended early.
    package mutating func ended(_ clip: ClipID, at frame: FrameIndex, fault: String? = nil) {
        if let fault, clips[clip] != nil { failure = fault }
        clips[clip]?.end = frame
    }

    /// Reports that a file cannot be opened, or has no frame. Has no effect on a file that was ready before.
    package mutating func failed(_ clip: ClipID, _ reason: String) {
        if clips[clip]?.opening == .opening { clips[clip]?.opening = .failed(reason) }
    }

    /// How long a file has been playing at `frame`, whether it is visible or not.
    package func played(_ clip: ClipID, by frame: FrameIndex) -> Duration {
        clips[clip]?.started.map { rate.timeBase.duration(max(0, frame - $0)) } ?? .zero
    }

    /// The files that the player uses, including those that are not ready.
    package var openClips: [(clip: ClipID, isStarted: Bool)] {
        clips.keys.sorted().map { ($0, clips[$0]?.started != nil) }
    }
}

// MARK: Views

extension RunDownPlayer {
    /// Puts on air the view that is due at `place` and `frame`. Uses the transition `change` if it is given, otherwise
    /// the segment's transition.
    mutating func show(_ place: RunDownPlace, at frame: FrameIndex, by change: RunDown.Change? = nil) {
        let segment = runDown.segments[place.segment]
        view = views(of: place, before: frame)
        let change = change ?? segment.change
        let showing = Showing(
            view: segment.views[viewIndex(view, of: place)], clip: place.clip, audio: segment.audio, change: change,
            frames: change.frames(at: rate))
        leave(aired == place.clip ? nil : aired, at: frame, fade: showing.frames)
        aired = place.clip
        shown = (showing.view.layout, path(in: showing.view, of: segment))
        actions.append(.show(showing, at: frame))
    }

    /// The index of the view of `segment` that has the same scene and file as the view that went on air last; nil if
    /// there is no such view.
    func seenView(of segment: RunDown.Segment) -> Int? {
        guard let shown else { return nil }
        return segment.views.firstIndex { $0.layout == shown.layout && path(in: $0, of: segment) == shown.path }
    }

    private func path(in view: RunDown.View, of segment: RunDown.Segment) -> String? {
        view.layout.sources.contains(RunDown.clipName) ? segment.clip?.path : nil
    }

    /// Shows the next view of a segment with several views, if that is due.
    private mutating func turn(_ place: RunDownPlace, at frame: FrameIndex) {
        if views(of: place, before: frame) != view { show(place, at: frame) }
    }

    private func views(of place: RunDownPlace, before frame: FrameIndex) -> Int64 {
        let segment = runDown.segments[place.segment]
        guard segment.views.count > 1, let every = segment.every else { return 0 }
        return place.views(before: frame, every: every, at: rate)
    }

    func viewIndex(_ view: Int64, of place: RunDownPlace) -> Int {
        let segment = runDown.segments[place.segment]
        let count = segment.views.count
        if segment.order == .listed { return Int(view % Int64(count)) }
        // The order differs between segments, and between passes through the run-down.
        let seed = runDown.seed &+ UInt64(place.segment) &* 0x9E37_79B9 &+ UInt64(place.pass) &* 0x85EB_CA6B_0000
        return RunDownOrder(count: count, seed: seed, seen: place.seen).view(view)
    }

    /// Keeps a file until the transition that replaces it has ended. If that transition interrupts another one, also
    /// keeps the files that are visible in the interrupted transition, because the new transition begins with the
    /// visible frame.
    mutating func leave(_ clip: ClipID?, at frame: FrameIndex, fade: Int64) {
        let until = frame + fade + 1
        for index in fading.indices where fading[index].until > frame {
            fading[index].until = max(fading[index].until, until)
        }
        guard let clip else { return }
        fading.append((clip, until))
        if fading.count > Self.mostFading { fading.removeFirst() }
    }
}

extension RunDownPlayer.Action {
    fileprivate var isShow: Bool {
        if case .show = self { true } else { false }
    }
}
