// SPDX-License-Identifier: Apache-2.0

package import Media

/// Decides which of a channel's inputs is on air: the first in a list that has video, or a slate if no input has video.
///
/// A pure state machine: it turns events into actions, and has no I/O and no clock of its own. It controls either what
/// a program shows or which packets a splicer passes on; a splicer carries a switch out at the next keyframe. Source 0
/// is the first choice, and the others follow in the order in which they replace it.
///
/// A source is lost when it is disconnected, or when it has shown no video for the timeout. Another source that has
/// video takes over at once. The slate takes over only when no source has had video for the timeout, because a
/// publisher usually reconnects sooner.
///
/// A preferred source goes on air again after it was healthy for as long as the options require, but at once if the
/// source on air is lost, or if the slate is on air. Sources that were opened because of a loss are closed only after a
/// preferred source was healthy for that long. So a source that fails again and again cannot prevent the others from
/// being opened.
///
/// A program can have several sources, each with its own inputs and its own selector. The inputs of such a source are
/// not wanted while the source is not shown. Depending on the options, the input on air is then decoded as before, or
/// only its keyframes are decoded, or all inputs are closed once the input on air has shown video. In the last case the
/// selection begins again when the inputs are wanted.
package struct SourceSelector: Sendable {
    /// How ready sources that are not on air are kept.
    package enum Standby: String, Sendable, Hashable, CaseIterable {
        /// Sources are read and decoded all the time. A switch is made one frame after the timeout, and each source
        /// needs a decoder.
        case hot
        /// Sources are read all the time, but only their keyframes are decoded. At a switch, the last frame of the
        /// previous source can stay on screen until the next keyframe.
        case keyframes
        /// Sources are opened only when they are needed. A switch takes as long as the opening. Until then the last
        /// frame stays on screen or, after the timeout, the slate is shown.
        case cold
    }

    /// The rules by which sources are chosen.
    package struct Options: Sendable, Hashable {
        /// A source that has shown no video for this long counts as lost; more than 0.
        package var timeout: Duration
        /// How long a preferred source must be healthy before it returns; nil if it never returns by itself.
        package var returnAfter: Duration?
        /// How ready sources that are not on air are kept.
        package var standby: Standby
        /// How ready the source on air is kept while it is not wanted, because it is not shown.
        package var unseen: Standby
        /// Whether there is a slate. Without a slate the last frame stays on screen.
        package var hasSlate: Bool

        /// Creates options; the defaults are those of the command line.
        package init(
            timeout: Duration = .seconds(2), returnAfter: Duration? = .seconds(10), standby: Standby = .cold,
            unseen: Standby = .hot, hasSlate: Bool = true
        ) {
            self.timeout = timeout
            self.returnAfter = returnAfter
            self.standby = standby
            self.unseen = unseen
            self.hasSlate = hasSlate
        }
    }

    /// A source or the slate, as the selector's choice.
    package enum OnAir: Sendable, Hashable {
        /// The source with this number.
        case source(Int)
        /// The slate, with silence.
        case slate
    }

    /// The reason for a change of the source or slate that is on air.
    package enum Reason: String, Sendable, Hashable {
        /// The program begins, or the inputs are wanted again after they were closed.
        case start
        /// The source on air was disconnected.
        case disconnected
        /// The source on air showed no video for the timeout.
        case noVideo
        /// A source has video, and replaces the slate.
        case video
        /// A preferred source was healthy for long enough.
        case recovered
    }

    /// How much of a source is decoded.
    package enum Decoding: Sendable, Hashable {
        /// All frames.
        case all
        /// Only keyframes.
        case keyframes
    }

    /// An event for the selector. Times are those of the monotonic clock. A time earlier than the latest time so far
    /// counts as the latest time.
    package enum Event: Sendable, Hashable {
        /// The channel begins.
        case started(at: MonotonicInstant)
        /// The source was opened: its transport is connected.
        case connected(Int, at: MonotonicInstant)
        /// The source ended, failed, or could not be opened. The caller tries to open the source again until the
        /// selector closes it.
        case lost(Int, at: MonotonicInstant)
        /// The source has video. The caller reports each frame or, while not all frames are decoded, each packet.
        case video(Int, at: MonotonicInstant)
        /// Whether the source on air is wanted. Until the first such event, it counts as wanted.
        case wanted(Bool, at: MonotonicInstant)
        /// Time has passed. The caller reports this at ``SourceSelector/nextDeadline``, and can also report it at any
        /// other time.
        case tick(at: MonotonicInstant)
    }

    /// A step for the caller to take. The caller must carry actions out in order.
    package enum Action: Sendable, Hashable {
        /// Open the source. If opening fails, try again until the selector closes the source.
        case open(Int, Decoding)
        /// Change how much of the source is decoded.
        case decode(Int, Decoding)
        /// Put this on air, in place of the previous source or slate.
        case air(OnAir, Reason)
        /// Close the source.
        case close(Int)
    }

    private struct Source {
        var openedAt: MonotonicInstant?
        var decoding = Decoding.all
        /// Whether the source was lost or could not be opened since it was last opened or last had video.
        var hasFailed = false
        var lastVideo: MonotonicInstant?
        /// When the current period of video began; nil without video. A loss of the source, or an interruption as long
        /// as the timeout, ends the period.
        var liveSince: MonotonicInstant?
    }

    /// How long a source must be healthy before the other sources are closed, if `returnAfter` is nil.
    private static let healthyTime = Duration.seconds(10)

    /// The rules by which sources are chosen.
    package let options: Options
    /// The source or slate that is on air; nil before the first choice, and while all sources are closed because they
    /// are not wanted.
    package private(set) var onAir: OnAir?

    private let timeout: Duration
    private let healthy: Duration
    private var sources: [Source]
    private var startedAt: MonotonicInstant?
    private var now = MonotonicInstant.distantPast
    private var isWanted = true
    /// Whether all sources are closed because they are not wanted.
    private var isAsleep = false

    /// Creates a selector of `count` sources, at least 1.
    package init(count: Int, options: Options = Options()) {
        self.options = options
        timeout = max(.nanoseconds(1), options.timeout)
        healthy = max(.zero, options.returnAfter ?? Self.healthyTime)
        sources = Array(repeating: Source(), count: max(1, count))
    }

    /// Whether the source should be open.
    package func isOpen(_ source: Int) -> Bool { sources.indices.contains(source) && sources[source].openedAt != nil }

    /// Handles an event and returns the resulting actions. Ignores events of sources that do not exist or should not be
    /// open, and all events before ``Event/started(at:)``.
    package mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .started(let moment):
            guard startedAt == nil else { return [] }
            (now, startedAt) = (moment, moment)
            return openAtStart()
        case .connected(let source, let moment):
            guard move(to: moment), isOpen(source) else { return [] }
            return decide()
        case .lost(let source, let moment):
            guard move(to: moment), isOpen(source) else { return [] }
            (sources[source].hasFailed, sources[source].liveSince) = (true, nil)
            return decide()
        case .video(let source, let moment):
            guard move(to: moment), isOpen(source) else { return [] }
            (sources[source].hasFailed, sources[source].lastVideo) = (false, now)
            sources[source].liveSince = sources[source].liveSince ?? now
            return decide()
        case .wanted(let isWanted, let moment):
            guard move(to: moment) else { return [] }
            return want(isWanted)
        case .tick(let moment):
            return move(to: moment) ? decide() : []
        }
    }

    /// The next time at which the state can change without another event; nil if there is no such time. The caller
    /// reports a tick at that time or later.
    package var nextDeadline: MonotonicInstant? {
        guard let startedAt else { return nil }
        var moments = sources.flatMap { source in
            [source.lastVideo, source.openedAt].compactMap { $0.map { $0 + timeout } }
        }
        moments.append(startedAt + timeout)
        return moments.filter { $0 > now }.min()
    }
}

extension SourceSelector {
    /// Advances the selector's time, and ends the period of video of each source whose video has stopped. Returns false
    /// before ``Event/started(at:)``.
    private mutating func move(to moment: MonotonicInstant) -> Bool {
        guard startedAt != nil else { return false }
        now = max(now, moment)
        for index in sources.indices {
            guard let last = sources[index].lastVideo, now - last >= timeout else { continue }
            sources[index].liveSince = nil
        }
        return true
    }

    private mutating func openAtStart() -> [Action] {
        let wanted = options.standby == .cold ? 0..<1 : sources.indices
        return wanted.map { open($0) }
    }

    private mutating func open(_ index: Int) -> Action {
        let decoding = decoding(of: index)
        sources[index] = Source(openedAt: now, decoding: decoding)
        return .open(index, decoding)
    }

    /// Returns how much of a source must be decoded with the current choice. With cold standby, a source that is open
    /// but not on air was opened at the start or because of a loss. It can go on air with its first frame, so all of
    /// its frames are decoded.
    private func decoding(of index: Int) -> Decoding {
        if onAir == .source(index) { return isWanted || options.unseen != .keyframes ? .all : .keyframes }
        return options.standby == .keyframes ? .keyframes : .all
    }

    private mutating func want(_ isWanted: Bool) -> [Action] {
        self.isWanted = isWanted
        switch options.unseen {
        case .hot: return []
        case .keyframes:
            guard case .source(let index) = onAir else { return [] }
            return adjustDecoding(of: index)
        case .cold: return isWanted ? wake() : sleep()
        }
    }

    /// Closes all sources, but only if the source on air has video: otherwise there is no frame yet that could stay on
    /// screen.
    private mutating func sleep() -> [Action] {
        guard case .source(let index) = onAir, sources[index].liveSince != nil else { return [] }
        (isAsleep, onAir) = (true, nil)
        let open = sources.indices.filter { isOpen($0) }
        for index in open { sources[index] = Source() }
        return open.map { .close($0) }
    }

    private mutating func wake() -> [Action] {
        guard isAsleep else { return [] }
        (isAsleep, startedAt) = (false, now)
        return openAtStart()
    }

    private mutating func decide() -> [Action] {
        if isAsleep { return [] }
        var actions: [Action] = []
        if let (next, reason) = choice(), next != onAir { actions += switchOver(to: next, reason) }
        if options.standby == .cold { actions += openNext() + closeSpare() }
        return actions
    }

    /// Returns the source or slate that should be on air, with the reason; nil if nothing changes.
    private func choice() -> (OnAir, Reason)? {
        let best = sources.firstIndex { $0.liveSince != nil }
        switch onAir {
        case nil:
            let isOverdue = now - (startedAt ?? now) >= timeout
            if let best, best == 0 || isOverdue { return (.source(best), .start) }
            return isOverdue && options.hasSlate ? (.slate, .start) : nil
        case .slate:
            return best.map { (.source($0), .video) }
        case .source(let current):
            guard sources[current].liveSince == nil else { return recovered(before: current) }
            let loss: Reason = sources[current].hasFailed ? .disconnected : .noVideo
            if let best { return (.source(best), loss) }
            guard options.hasSlate, now - (sources[current].lastVideo ?? now) >= timeout else { return nil }
            return (.slate, loss)
        }
    }

    /// Returns a source that is preferred to `current`, has video and was healthy for long enough; nil if there is
    /// none.
    private func recovered(before current: Int) -> (OnAir, Reason)? {
        guard options.returnAfter != nil else { return nil }
        let index = sources.prefix(current).firstIndex { isHealthy($0) }
        return index.map { (.source($0), .recovered) }
    }

    /// Whether the source was healthy for long enough. Only the time up to the source's last frame counts. Otherwise a
    /// source that has just frozen would become healthy as time passes.
    private func isHealthy(_ source: Source) -> Bool {
        guard let since = source.liveSince, let last = source.lastVideo else { return false }
        return last - since >= healthy
    }

    private mutating func switchOver(to next: OnAir, _ reason: Reason) -> [Action] {
        let old = onAir
        onAir = next
        var actions: [Action] = []
        if case .source(let index) = next { actions += adjustDecoding(of: index) }
        actions.append(.air(next, reason))
        if case .source(let index) = old { actions += adjustDecoding(of: index) }
        return actions
    }

    private mutating func adjustDecoding(of index: Int) -> [Action] {
        let wanted = decoding(of: index)
        guard sources[index].openedAt != nil, sources[index].decoding != wanted else { return [] }
        sources[index].decoding = wanted
        return [.decode(index, wanted)]
    }

    /// Opens further sources in order while no source has video. The next source is opened at once if the source before
    /// it failed, and otherwise when the source before it has shown no video for the timeout.
    private mutating func openNext() -> [Action] {
        var actions: [Action] = []
        while sources.allSatisfy({ $0.liveSince == nil }),
            let next = sources.firstIndex(where: { $0.openedAt == nil }), next > 0
        {
            let before = sources[next - 1]
            let waited = now - max(before.openedAt ?? now, before.lastVideo ?? .distantPast)
            guard before.hasFailed || waited >= timeout else { break }
            actions.append(open(next))
        }
        return actions
    }

    /// If a source was healthy for long enough, closes the sources after it in the list, except the source on air.
    private mutating func closeSpare() -> [Action] {
        guard let first = sources.firstIndex(where: isHealthy) else { return [] }
        var actions: [Action] = []
        for index in sources.indices where index > first && sources[index].openedAt != nil {
            if onAir == .source(index) { continue }
            sources[index] = Source()
            actions.append(.close(index))
        }
        return actions
    }
}
