// SPDX-License-Identifier: Apache-2.0

package import Media

/// Which of a channel's inputs is on air: the first of a list that has video, and at the end of the list a slate.
///
/// A pure machine: events in, actions out, no I/O and no clock of its own. It drives what a program shows and what a
/// splicer of packets passes on alike; the latter carries an action out at the next keyframe. Source 0 is the first
/// choice, and the others follow in the order in which they stand in.
///
/// A source is lost when it is disconnected, or shows no video for the timeout. Another one with video takes over at
/// once; the slate only when no source had video for the timeout, because a publisher that connects again is back
/// sooner. A source that is preferred comes back after it was healthy for as long as the options say, but at once if
/// what is on air is lost, or the slate is. Sources opened for a loss are closed only after a preferred one was healthy
/// for that long, so one that comes and goes cannot keep the others from being opened.
///
/// If the selector chooses for one of several sources of a program, it may be that what is on air is not wanted. Then
/// only its keyframes are decoded; or all is closed once it was on air, and begins again when it is wanted.
package struct SourceSelector: Sendable {
    /// What is kept ready of sources that are not on air.
    package enum Standby: String, Sendable, Hashable, CaseIterable {
        /// Read and decoded all the time: a switch takes the timeout and one frame, and each source costs a decoder.
        case hot
        /// Read all the time, and only keyframes decoded: the last one may stay on screen until the next keyframe.
        case keyframes
        /// Opened when it is needed: a switch takes as long as opening does, and until then there is the slate.
        case cold
    }

    /// How sources are chosen.
    package struct Options: Sendable, Hashable {
        /// How long a source may show no video; more than 0.
        package var timeout: Duration
        /// How long a preferred source must be healthy before it comes back; nil if it never does by itself.
        package var returnAfter: Duration?
        /// What is kept ready.
        package var standby: Standby
        /// What is kept ready of what is on air while it is not wanted.
        package var unseen: Standby
        /// Whether there is a slate. Without one the last frame stays.
        package var hasSlate: Bool

        /// Options, with the defaults of the command line.
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

    /// What can be on air.
    package enum OnAir: Sendable, Hashable {
        /// The source of this number.
        case source(Int)
        /// The slate, with silence.
        case slate
    }

    /// Why it changed.
    package enum Reason: String, Sendable, Hashable {
        /// The program begins.
        case start
        /// What was on air was disconnected.
        case disconnected
        /// What was on air showed no video for the timeout.
        case noVideo
        /// There is video again instead of the slate.
        case video
        /// A preferred source was healthy for long enough.
        case recovered
    }

    /// How much of a source is decoded.
    package enum Decoding: Sendable, Hashable {
        /// Every frame.
        case all
        /// Keyframes.
        case keyframes
    }

    /// What happened. Moments are the monotonic clock's; one that goes back counts as the latest seen.
    package enum Event: Sendable, Hashable {
        /// The channel begins.
        case started(at: Timestamp)
        /// The source was opened: its transport is there.
        case connected(Int, at: Timestamp)
        /// The source ended, failed, or could not be opened. The caller, which opens it, tries again until it is
        /// closed.
        case lost(Int, at: Timestamp)
        /// The source has video: a frame, or a packet while not all frames are decoded. This is to be told for each.
        case video(Int, at: Timestamp)
        /// Whether what is on air is wanted. It is until this event says otherwise.
        case wanted(Bool, at: Timestamp)
        /// Time passed: ``SourceSelector/nextDeadline``, or any other moment.
        case tick(at: Timestamp)
    }

    /// What to do, in this order.
    package enum Action: Sendable, Hashable {
        /// Open the source, again and again until it is closed.
        case open(Int, Decoding)
        /// Decode more or less of the source.
        case decode(Int, Decoding)
        /// Put this on air instead of what was.
        case air(OnAir, Reason)
        /// Close the source.
        case close(Int)
    }

    private struct Source {
        var openedAt: Int64?
        var decoding = Decoding.all
        /// Whether opening it failed, or it was lost, since it was opened or last had video.
        var hasFailed = false
        var lastVideo: Int64?
        /// Since when it shows video without a break as long as the timeout.
        var liveSince: Int64?
    }

    /// How long a source must be healthy before others are closed if it would never come back by itself.
    private static let healthyTime = Duration.seconds(10)

    /// How sources are chosen.
    package let options: Options
    /// What is on air; nil before anything is, and again while all is closed because it is not wanted.
    package private(set) var onAir: OnAir?

    private let timeout: Int64
    private let healthy: Int64
    private var sources: [Source]
    private var startedAt: Int64?
    private var now: Int64 = .min
    private var isWanted = true
    /// Whether everything is closed because it is not wanted.
    private var isAsleep = false

    /// A selector of `count` sources, at least one.
    package init(count: Int, options: Options = Options()) {
        self.options = options
        timeout = max(1, options.timeout.inNanoseconds)
        healthy = max(0, (options.returnAfter ?? Self.healthyTime).inNanoseconds)
        sources = Array(repeating: Source(), count: max(1, count))
    }

    /// Whether the source is to be open.
    package func isOpen(_ source: Int) -> Bool { sources.indices.contains(source) && sources[source].openedAt != nil }

    /// Takes in what happened and says what to do. What sources say that are not to be open, or do not exist, is
    /// ignored, and so is everything before the start.
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

    /// When time alone will change something next, to be answered with a tick at that moment or later; nil if nothing
    /// will.
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
    /// Moves time on and finds sources whose video stopped. False before the start.
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

    /// How much of a source is decoded when this is on air. What is opened for a loss will be on air at its first
    /// frame.
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

    /// Closes all, if what is on air has video: until then there is nothing to leave on the screen.
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

    /// What belongs on air; nil for no change.
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

    /// A source preferred to `current`, which has video, that was healthy for long enough.
    private func recovered(before current: Int) -> (OnAir, Reason)? {
        guard options.returnAfter != nil else { return nil }
        let index = sources.prefix(current).firstIndex { isHealthy($0) }
        return index.map { (.source($0), .recovered) }
    }

    /// Up to its last frame: one that has just frozen is no better for the time that passes.
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

    /// Opens sources while none has video: at once behind one that failed, else behind one that showed nothing for the
    /// timeout.
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

    /// Closes the sources behind one that was healthy for long enough, but for the one on air.
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
