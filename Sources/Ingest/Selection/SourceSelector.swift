// SPDX-License-Identifier: Apache-2.0

package import Media

/// Decides which of a channel's inputs is on air: the first in a list that has video; if no input has video, a slate.
///
/// A pure state machine: events in, actions out, no I/O and no clock of its own. The same state machine controls what a
/// program shows and what a splicer of packets passes on; the splicer carries an action out at the next keyframe.
/// Source 0 is the first choice, and the others follow in the order in which they replace it.
///
/// A source is lost when it is disconnected, or shows no video for the timeout. Another source that has video takes
/// over at once. The slate takes over only when no source had video for the timeout, because a publisher usually
/// reconnects sooner. A preferred source returns after it was healthy for as long as the options require, but at once
/// if the source on air is lost, or the slate is on air. Sources that were opened because of a loss are closed only
/// after a preferred source was healthy for that long, so a source that fails again and again cannot prevent the others
/// from being opened.
///
/// If the program has several sources and the selector belongs to one of them, the input on air might be unwanted,
/// because it is not shown. Then only its keyframes are decoded; or, after it was on air, all inputs are closed, and
/// the selection begins again when the source is wanted.
package struct SourceSelector: Sendable {
    /// How ready sources that are not on air are kept.
    package enum Standby: String, Sendable, Hashable, CaseIterable {
        /// Read and decoded all the time: a switch is made one frame after the timeout, and each source needs a
        /// decoder.
        case hot
        /// Read all the time, but only keyframes are decoded: at a switch, the last frame of the previous source can
        /// stay on screen until the next keyframe.
        case keyframes
        /// Opened only when needed: a switch takes as long as the opening, and until then the slate is shown.
        case cold
    }

    /// The rules by which sources are chosen.
    package struct Options: Sendable, Hashable {
        /// A source that shows no video for this long counts as lost; more than 0.
        package var timeout: Duration
        /// How long a preferred source must be healthy before it returns; nil if it never returns by itself.
        package var returnAfter: Duration?
        /// How ready sources that are not on air are kept.
        package var standby: Standby
        /// How ready the source on air is kept while it is not wanted.
        package var unseen: Standby
        /// Whether there is a slate. Without a slate the last frame stays on screen.
        package var hasSlate: Bool

        /// Options with the defaults of the command line.
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

    /// The reason for a change.
    package enum Reason: String, Sendable, Hashable {
        /// The program begins.
        case start
        /// The source on air was disconnected.
        case disconnected
        /// The source on air showed no video for the timeout.
        case noVideo
        /// A source has video again, and replaces the slate.
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

    /// An event for the selector. Times are those of the monotonic clock; a time that goes back counts as the latest
    /// time so far.
    package enum Event: Sendable, Hashable {
        /// The channel begins.
        case started(at: Timestamp)
        /// The source was opened: its transport is connected.
        case connected(Int, at: Timestamp)
        /// The source ended, failed, or could not be opened. The caller tries to open it again until the source is
        /// closed.
        case lost(Int, at: Timestamp)
        /// The source has video: a frame or, while not all frames are decoded, a packet. The caller reports each frame
        /// or packet.
        case video(Int, at: Timestamp)
        /// Whether the source on air is wanted. It counts as wanted until an event says otherwise.
        case wanted(Bool, at: Timestamp)
        /// Time passed: ``SourceSelector/nextDeadline`` was reached, or any other time.
        case tick(at: Timestamp)
    }

    /// A step for the caller to take. The caller must carry actions out in order.
    package enum Action: Sendable, Hashable {
        /// Open the source, and try again until it is closed.
        case open(Int, Decoding)
        /// Change how much of the source is decoded.
        case decode(Int, Decoding)
        /// Put this on air, in place of the previous source or slate.
        case air(OnAir, Reason)
        /// Close the source.
        case close(Int)
    }

    private struct Source {
        var openedAt: Int64?
        var decoding = Decoding.all
        /// Whether the source was lost or could not be opened, after the last request to open it or after its last
        /// video.
        var hasFailed = false
        var lastVideo: Int64?
        /// When the current period of video began, which an interruption as long as the timeout ends; nil without
        /// video.
        var liveSince: Int64?
    }

    /// How long a source must be healthy before the other sources are closed, if `returnAfter` is nil.
    private static let healthyTime = Duration.seconds(10)

    /// The rules by which sources are chosen.
    package let options: Options
    /// The choice that is on air; nil before the first choice, and while everything is closed because it is not wanted.
    package private(set) var onAir: OnAir?

    private let timeout: Int64
    private let healthy: Int64
    private var sources: [Source]
    private var startedAt: Int64?
    private var now: Int64 = .min
    private var isWanted = true
    /// Whether all sources are closed because they are not wanted.
    private var isAsleep = false

    /// A selector of `count` sources, at least 1.
    package init(count: Int, options: Options = Options()) {
        self.options = options
        timeout = max(1, options.timeout.inNanoseconds)
        healthy = max(0, (options.returnAfter ?? Self.healthyTime).inNanoseconds)
        sources = Array(repeating: Source(), count: max(1, count))
    }

    /// Whether the source should be open.
    package func isOpen(_ source: Int) -> Bool { sources.indices.contains(source) && sources[source].openedAt != nil }

    /// Handles an event and returns the resulting actions. Events of sources that do not exist or should not be open
    /// are ignored, and so are all events before the start.
    package mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .started(let moment):
            guard startedAt == nil else { return [] }
            now = moment.nanoseconds
            startedAt = now
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

    /// The next time at which something changes without another event; nil if there is no such time. The caller reports
    /// a tick at that time or later.
    package var nextDeadline: Timestamp? {
        guard let startedAt else { return nil }
        var moments = sources.flatMap { source in
            [source.lastVideo, source.openedAt].compactMap { $0.map { $0 &+ timeout } }
        }
        moments.append(startedAt &+ timeout)
        return moments.filter { $0 > now }.min().map { Timestamp(nanoseconds: $0) }
    }
}

extension SourceSelector {
    /// Advances the selector's time, and marks sources whose video has stopped as lost. Returns false before the start.
    private mutating func move(to moment: Timestamp) -> Bool {
        guard startedAt != nil else { return false }
        now = max(now, moment.nanoseconds)
        for index in sources.indices {
            guard let last = sources[index].lastVideo, now &- last >= timeout else { continue }
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

    /// How much of a source is decoded with the current choice. A source that was opened because of a loss goes on air
    /// with its first frame, so all of its frames are decoded.
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

    /// Closes all sources, if the source on air has video: otherwise there is no frame yet that could stay on screen.
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

    /// The source or slate that should be on air; nil if nothing changes.
    private func choice() -> (OnAir, Reason)? {
        let best = sources.firstIndex { $0.liveSince != nil }
        switch onAir {
        case nil:
            let isOverdue = now &- (startedAt ?? now) >= timeout
            if let best, best == 0 || isOverdue { return (.source(best), .start) }
            return isOverdue && options.hasSlate ? (.slate, .start) : nil
        case .slate:
            return best.map { (.source($0), .video) }
        case .source(let current):
            guard sources[current].liveSince == nil else { return recovered(before: current) }
            let loss: Reason = sources[current].hasFailed ? .disconnected : .noVideo
            if let best { return (.source(best), loss) }
            guard options.hasSlate, now &- (sources[current].lastVideo ?? now) >= timeout else { return nil }
            return (.slate, loss)
        }
    }

    /// A source that is preferred to `current`, has video and was healthy for long enough; nil without such a source.
    private func recovered(before current: Int) -> (OnAir, Reason)? {
        guard options.returnAfter != nil else { return nil }
        let index = sources.prefix(current).firstIndex { isHealthy($0) }
        return index.map { (.source($0), .recovered) }
    }

    /// Whether the source was healthy for long enough. Only the time up to its last frame counts: otherwise a source
    /// that has just frozen would become healthy as time passes.
    private func isHealthy(_ source: Source) -> Bool {
        guard let since = source.liveSince, let last = source.lastVideo else { return false }
        return last &- since >= healthy
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

    /// Opens further sources while no source has video: at once if the previous source failed, otherwise when the
    /// previous source has shown no video for the timeout.
    private mutating func openNext() -> [Action] {
        var actions: [Action] = []
        while sources.allSatisfy({ $0.liveSince == nil }),
            let next = sources.firstIndex(where: { $0.openedAt == nil }), next > 0
        {
            let before = sources[next - 1]
            let waited = now &- max(before.openedAt ?? now, before.lastVideo ?? .min)
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
