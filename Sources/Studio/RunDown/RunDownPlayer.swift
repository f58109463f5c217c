// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Program
package import Status

/// Plays a ``RunDown``: says at each frame of a program what begins with it. It has no clock, so that the same plan is
/// played on air and rendered faster; what it says is a matter of the frames' numbers and of what it was told.
///
/// The user of the player calls ``tick(_:)`` for each frame before it is made, and does the actions, in their order.
/// What an operator asks for takes effect at the next call.
///
///     idle ── start ──▶ running ── end ──▶ over
///                        │  ▲
///              cut, hold ▼  │ resume, follow, next
///                        held
///
/// While it is held its time and its files advance unseen, so that `follow` finds what would be on air by now; and the
/// place where it was held is kept for `resume`.
package struct RunDownPlayer: Sendable {
    /// One use of a file.
    package struct ClipID: Sendable, Hashable, Comparable {
        let number: Int
        package static func < (left: ClipID, right: ClipID) -> Bool { left.number < right.number }
    }

    /// What comes on air.
    package struct Showing: Sendable, Equatable {
        package var view: RunDown.View
        /// The file that the layout calls ``RunDown/clipName``.
        package var clip: ClipID?
        package var audio: RunDown.Audio
        package var change: RunDown.Change
        package var frames: Int64
    }

    /// What is to be done.
    package enum Action: Sendable, Equatable {
        /// Open a file and make its frames ready, so that it can begin at any frame.
        case prepare(ClipID, RunDown.Clip)
        /// Its first frame is that of this frame of the program, seen or not.
        case start(ClipID, at: FrameIndex)
        /// This comes on air.
        case show(Showing, at: FrameIndex)
        /// The file is not needed any more.
        case release(ClipID)
        /// A segment is left out.
        case skip(segment: Int, reason: String)
    }

    /// What it is doing.
    package typealias State = RunDownStatus.State

    /// Why something cannot be done now.
    package enum Refusal: Error, Equatable, CustomStringConvertible {
        case notRunning
        case notHeld
        /// There is no segment of this number; `of` is how many there are.
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

        /// Where in the file its first frame is.
        let start: Duration
        var opening = Opening.opening
        var started: FrameIndex?
        /// The frame after its last one, once that is known.
        var end: FrameIndex?
        /// How many frames it has, if its container says so.
        var frames: Int64?
    }

    /// What comes next.
    struct Upcoming: Sendable {
        var segment: Int
        var pass: Int64
        var clip: ClipID?
        /// Where the run-down continues if it was held and a file had to be opened again, and the frame of the hold.
        var resumed: (place: RunDownPlace, heldAt: FrameIndex)?
    }

    /// The segment that is tried next after nothing could be opened, and when.
    struct Rest: Sendable {
        let segment: Int
        let pass: Int64
        let until: FrameIndex
    }

    /// Where the run-down was held.
    struct Held: Sendable {
        var place: RunDownPlace
        let frame: FrameIndex
        /// Whether something else is on air.
        var isCutAway = false
        /// The file from where it was held on.
        var again: ClipID?
    }

    package let runDown: RunDown
    let rate: FrameRate
    package internal(set) var state = State.idle
    var place: RunDownPlace?
    var upcoming: Upcoming?
    /// Only while there is nothing upcoming.
    var rest: Rest?
    var held: Held?
    /// Whether what comes next is to come at the next frame.
    var isDue = false
    /// Whether what comes next is late because its file is not ready.
    var isWaiting = false
    /// Whether what comes next is held as soon as it is seen. Only while it is running.
    var holdsNext = false
    var isOver = false
    var clips: [ClipID: ClipState] = [:]
    /// The file in what is on air, and those that give way to it.
    var aired: ClipID?
    var fading: [(clip: ClipID, until: FrameIndex)] = []
    /// Where segments are shorter than their transitions, each interrupts the one before for as long as the show lasts.
    private static let mostFading = 8
    /// What came on air last, and the path of the file in it.
    var shown: (layout: SceneLayout, path: String?)?
    /// How many views of the segment came before the one on air.
    var view: Int64 = 0
    /// What an operator will put on air, by frame.
    var cuts: [(frame: FrameIndex, fade: Int64)] = []
    var clipCount = 0
    /// Frames that segments began late because their files were not ready.
    var lateFrames: Int64 = 0
    /// Segments left out one after the other.
    var skipped = 0
    /// Segments that are left out whenever it is their turn, and why, until an operator starts one of them.
    package private(set) var barred: [Int: String] = [:]
    /// Why a segment was left out last, or was over before its end.
    package internal(set) var failure: String?
    var actions: [Action] = []

    /// A player of `runDown` in a program of this rate, which has not begun.
    package init(_ runDown: RunDown, rate: FrameRate) { (self.runDown, self.rate) = (runDown, rate) }

    /// What begins with `frame`. Frames come in order, and some may be left out; of one that is asked for again nothing is
    /// said again.
    package mutating func tick(_ frame: FrameIndex) -> [Action] {
        for cut in cuts where cut.frame <= frame { cutAway(at: cut.frame, fade: cut.fade) }
        cuts.removeAll { $0.frame <= frame }
        if state == .running || state == .held {
            while !isOver, let due = due(by: frame), begin(due, at: frame) {}
            if state == .running, let place { turn(place, at: frame) }
        }
        collect(frame)
        defer { actions = [] }
        // What is over with the same frame is not seen.
        let last = actions.lastIndex(where: \.isShow)
        return actions.enumerated().filter { !$1.isShow || $0 == last }.map(\.element)
    }

    /// The segment under way, or that is held, or that is waited for; nil where it is not running.
    package var currentSegment: Int? {
        switch state {
        case .idle, .over: nil
        case .running: place?.segment ?? upcoming?.segment ?? rest?.segment
        case .held: held?.place.segment ?? place?.segment ?? upcoming?.segment
        }
    }

    /// Whether nothing can be opened, and is tried again later.
    package var isResting: Bool { rest != nil }

    // MARK: What it is told

    /// Leaves a segment out from now on, also if it has been started and did not begin yet. Nothing of its file is decoded.
    package mutating func bar(_ segment: Int, because reason: String) { barred[segment] = reason }

    /// Lets a segment be played again.
    mutating func unbar(_ segment: Int) { barred[segment] = nil }

    /// Whether it is held, and whether something else is on air then.
    package var hold: (isHeld: Bool, isCutAway: Bool) {
        (state == .held || holdsNext, state == .held && held?.isCutAway == true)
    }

    /// A file was opened, and its first frames are there. It has `frames` more of them than what lies before its start, as
    /// far as its container says.
    package mutating func ready(_ clip: ClipID, frames: Int64? = nil) {
        clips[clip]?.opening = .ready
        clips[clip]?.frames = frames
    }

    /// A file's last frame is the one before `frame`; it was not to be the last, if there is a `fault`.
    package mutating func ended(_ clip: ClipID, at frame: FrameIndex, fault: String? = nil) {
        if let fault, clips[clip] != nil { failure = fault }
        clips[clip]?.end = frame
    }

    /// A file cannot be opened, or be read on.
    package mutating func failed(_ clip: ClipID, _ reason: String) {
        if clips[clip]?.opening == .opening { clips[clip]?.opening = .failed(reason) }
    }

    /// How long a file has been playing by `frame`, seen or not.
    package func played(_ clip: ClipID, by frame: FrameIndex) -> Duration {
        clips[clip]?.started.map { rate.timeBase.duration(max(0, frame - $0)) } ?? .zero
    }

    /// The files that it wants, with those that are not ready.
    package var openClips: [(clip: ClipID, isStarted: Bool)] {
        clips.keys.sorted().map { ($0, clips[$0]?.started != nil) }
    }
}

// MARK: What is seen

extension RunDownPlayer {
    /// Puts the view on air that is due in `place` at `frame`, by the segment's transition unless another is given.
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

    /// Which of the segment's views is what came on air last.
    func seenView(of segment: RunDown.Segment) -> Int? {
        guard let shown else { return nil }
        return segment.views.firstIndex { $0.layout == shown.layout && path(in: $0, of: segment) == shown.path }
    }

    private func path(in view: RunDown.View, of segment: RunDown.Segment) -> String? {
        view.layout.sources.contains(RunDown.clipName) ? segment.clip?.path : nil
    }

    /// Goes on to the next of several views if that is due.
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
        // Another order in each segment and each time that it comes.
        let seed = runDown.seed &+ UInt64(place.segment) &* 0x9E37_79B9 &+ UInt64(place.pass) &* 0x85EB_CA6B_0000
        return RunDownOrder(count: count, seed: seed, seen: place.seen).view(view)
    }

    /// Keeps a file until the transition from it is over; also keeps the files that are still seen in a transition that
    /// this one interrupts: it begins with what is on the screen.
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
