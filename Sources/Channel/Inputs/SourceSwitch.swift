// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Ingest
internal import Logging
internal import Media
internal import Status
internal import Synchronization

/// The inputs between which a ``SourceSwitch`` chooses. They are either decoded for a scene or spliced as packets. All
/// calls are made on the queue of the ``SourceSwitch``, and no call blocks.
protocol SwitchedSources: AnyObject, Sendable {
    /// Whether any consumer wants the input that is on air.
    var isWanted: Bool { get }
    /// Returns the state of an input.
    func report(of input: Int, at now: MonotonicInstant) -> InputReport
    /// Opens an input, and reopens it after failures until it is closed.
    func open(_ input: Int, _ decoding: SourceSelector.Decoding)
    /// Switches an input between decoding all frames and only keyframes.
    func decode(_ input: Int, _ decoding: SourceSelector.Decoding)
    /// Closes an input.
    func close(_ input: Int)
    /// Puts an input or the slate on air instead of the previous one.
    func air(_ next: SourceSelector.OnAir)
    /// Updates the scene of the input or slate on air if this scene has changed. Called after each check of the inputs.
    func refresh(_ onAir: SourceSelector.OnAir)
}

extension SwitchedSources {
    var isWanted: Bool { true }
}

/// The state of one of the inputs of a ``SourceSwitch``.
struct InputReport {
    /// Whether the input is open and being read.
    var isRunning = false
    /// The number of times that the input could not be opened or has ended, since ``SwitchedSources/open(_:_:)`` was
    /// called.
    var failures = 0
    /// When the input's newest video arrived.
    var newest: MonotonicInstant?
    /// The number of frames that have arrived and were not decoded.
    var skipped: Int64 = 0
}

/// Drives a `SourceSelector`: passes the events of the inputs to the selector, and carries out the selector's actions.
/// Each switch is reported in the log, in the status and in the recording's catalogue.
///
/// Inputs are checked every 20 ms and at the selector's deadlines. The checks run on the queue
/// `relay.inputs.<channel>`.
final class SourceSwitch: Sendable {
    /// The state of an input as it was last reported to the selector.
    private struct Told {
        var isConnected = false
        var report = InputReport()
    }

    private struct State {
        var selector: SourceSelector
        var told: [Told]
        var status: SelectionStatus
        var isStopped = false
    }

    private static let interval = Duration.milliseconds(20)
    /// The maximum time to wait for an input that determines the program's format.
    static let patience = Duration.seconds(10)
    /// The pause between two polls by a thread that waits for an input.
    static let pause = Duration.milliseconds(5)

    private let names: [String]
    private let recordings: ChannelRecordings
    private let clock: any MonotonicClock
    private let logger: Logger
    private let queue: DispatchQueue
    private let state: Mutex<State>

    /// Creates a switch between the inputs with the names `names`.
    init(
        _ names: [String], options: SourceSelector.Options, channel: String, recordings: ChannelRecordings,
        clock: any MonotonicClock, logger: Logger
    ) {
        (self.names, self.recordings, self.clock, self.logger) = (names, recordings, clock, logger)
        queue = DispatchQueue(label: "relay.inputs.\(channel)")
        state = Mutex(
            State(
                selector: SourceSelector(count: names.count, options: options), told: names.map { _ in Told() },
                status: SelectionStatus(inputs: names)))
    }

    /// Opens the inputs that must be open from the beginning. From now on, checks `sources` regularly, without
    /// retaining them.
    func begin(_ sources: any SwitchedSources) {
        queue.sync { handle(.started(at: now), sources) }
        schedule(sources)
    }

    /// Runs `work` on the queue on which the sources are called, unless the switch was stopped. Returns at once.
    func perform(_ work: @escaping @Sendable () -> Void) {
        queue.async { [self] in
            if !state.withLock({ $0.isStopped }) { work() }
        }
    }

    /// Runs `work` after all work that is queued now, even if the switch was stopped. Returns at once.
    func afterwards(_ work: @escaping @Sendable () -> Void) { queue.async(execute: work) }

    /// Stops checking the inputs. Returns at once.
    func stop() { state.withLock { $0.isStopped = true } }

    /// Stops checking the inputs, and calls `close`, which closes them and the slate. Calls it again after all work
    /// that is queued now, so that an input or slate is closed that was just being opened. Returns at once.
    func stop(closing close: @escaping @Sendable () -> Void) {
        stop()
        close()
        afterwards(close)
    }

    /// The input or slate that is on air; nil before anything is on air, and while all inputs are closed.
    var onAir: SourceSelector.OnAir? { state.withLock { $0.selector.onAir } }

    /// Whether the input should be open.
    func isOpen(_ input: Int) -> Bool { state.withLock { $0.selector.isOpen(input) } }

    /// A snapshot of the switch: which input is on air and why, how often that has changed, and which inputs are open.
    var status: SelectionStatus {
        state.withLock { state in
            var status = state.status
            status.open = names.indices.filter { state.selector.isOpen($0) }.map { names[$0] }
            return status
        }
    }

    /// Blocks until an input has answered, and returns the answer, which is that input's value in `known`. The first
    /// input determines the answer. A later input determines it only if the first one has failed, or after
    /// `patience`. Returns nil if no input answers in that time, or if no input could be opened. Waits longer only
    /// while an input is connected and waits for its first keyframe.
    func answer<Answer>(of sources: [StandbySource], within patience: Duration, known: () -> [Answer?]) -> Answer? {
        let deadline = clock.now + patience
        while true {
            let isOverdue = clock.now >= deadline
            // `isDescribing` is read before `known`. In the opposite order, an answer that becomes known between the
            // two reads would be missed, because `isDescribing` becomes false at the same time.
            let isDescribing = Self.isDescribing(sources)
            if let answer = answer(of: sources, isOverdue: isOverdue, known: known()) { return answer }
            if isOverdue && !isDescribing || isHopeless(sources) { return nil }
            clock.sleep(until: clock.now + Self.pause)
        }
    }

    /// Chooses in the same way as ``answer(of:within:known:)``, but without blocking, among the answers that are in
    /// `known` now. `isOverdue` means that the time for waiting is over.
    func answer<Answer>(of sources: [StandbySource], isOverdue: Bool, known: [Answer?]) -> Answer? {
        let isAwaited = known[0] == nil && sources[0].report.failures == 0
        return isAwaited && !isOverdue ? nil : known.lazy.compactMap { $0 }.first
    }

    /// Whether one of the sources is being opened and only waits for its first keyframe, which determines the source's
    /// format.
    static func isDescribing(_ sources: [StandbySource]) -> Bool { sources.contains { $0.report.isDescribing } }

    /// Whether all inputs were requested and the opening of each has failed, or the switch was stopped.
    func isHopeless(_ sources: [StandbySource]) -> Bool {
        if state.withLock({ $0.isStopped }) { return true }
        return names.indices.allSatisfy { isOpen($0) && sources[$0].report.failures > 0 }
    }

    /// Returns the error of a program that cannot begin because none of its inputs answers. This is the error with
    /// which the first input could not be opened. If the first input has no error, it is the error of the next input
    /// that has one.
    func noAnswer(of sources: [StandbySource]) -> ChannelFailure {
        let failures = zip(names, sources).compactMap { name, source in
            source.report.error.map { error in
                error as? ChannelFailure ?? ChannelFailure(.inputUnreadable, .openInput(name), saidBy: error)
            }
        }
        return failures.first
            ?? ChannelFailure(
                .inputUnreadable, .openInput(names[0]), saying: "The input \(names[0]) does not answer.")
    }

    private var now: MonotonicInstant { clock.now }

    private func schedule(_ sources: any SwitchedSources) {
        let (deadline, isStopped) = state.withLock { ($0.selector.nextDeadline, $0.isStopped) }
        if isStopped { return }
        let now = clock.now
        let next = min(now + Self.interval, deadline ?? .distantFuture)
        let wait = max(.milliseconds(1), next - now).inNanoseconds
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(wait))) { [weak sources] in
            guard let sources else { return }
            self.look(at: sources)
            self.schedule(sources)
        }
    }

    private func look(at sources: any SwitchedSources) {
        let reports = names.indices.filter(isOpen).map { ($0, sources.report(of: $0, at: now)) }
        // If the switch was stopped while these reports were collected, they are ignored: an input that ended because
        // of the stop must not count as lost.
        if state.withLock({ $0.isStopped }) { return }
        handle(.wanted(sources.isWanted, at: now), sources)
        for (input, report) in reports where isOpen(input) { look(at: report, of: input, sources) }
        handle(.tick(at: now), sources)
        if let onAir { sources.refresh(onAir) }
    }

    private func look(at report: InputReport, of input: Int, _ sources: any SwitchedSources) {
        let told = state.withLock { state in
            defer { state.told[input].report = report }
            return state.told[input]
        }
        if report.failures != told.report.failures || (told.isConnected && !report.isRunning) {
            state.withLock { $0.told[input].isConnected = false }
            return handle(.lost(input, at: now), sources)
        }
        guard report.isRunning else { return }
        if !told.isConnected {
            state.withLock { $0.told[input].isConnected = true }
            handle(.connected(input, at: now), sources)
        }
        // Frames that an input skips without decoding them show that the input is alive. They count as video that
        // arrives now, as soon as one decoded frame of the input is available to be shown.
        guard let newest = report.newest else { return }
        if report.skipped != told.report.skipped {
            handle(.video(input, at: now), sources)
        } else if newest != told.report.newest {
            handle(.video(input, at: newest), sources)
        }
    }

    private func handle(_ event: SourceSelector.Event, _ sources: any SwitchedSources) {
        for action in state.withLock({ $0.selector.handle(event) }) {
            switch action {
            case .open(let input, let decoding):
                // The input might be reopened while it is still closing. Its present state is stored as already
                // reported, so that this state is not reported to the selector as a change.
                let report = sources.report(of: input, at: now)
                state.withLock { $0.told[input] = Told(report: report) }
                sources.open(input, decoding)
            case .close(let input):
                sources.close(input)
                logger.info("input is closed", metadata: ["input": "\(names[input])"])
            case .decode(let input, let decoding): sources.decode(input, decoding)
            case .air(let next, let reason):
                sources.air(next)
                tell(next, reason)
            }
        }
    }

    private func tell(_ next: SourceSelector.OnAir, _ reason: SourceSelector.Reason) {
        let number: Int? = if case .source(let input) = next { input } else { nil }
        let name = number.map { names[$0] } ?? "slate"
        let before = state.withLock { state in
            defer {
                if let before = state.status.onAir, before != name { state.status.switches += 1 }
                (state.status.onAir, state.status.number, state.status.reason) = (name, number, reason.word)
            }
            return state.status.onAir
        }
        // If the input that was on air last goes on air again, there was no switch: the input was closed only because
        // it was not wanted.
        if name == before { return }
        recordings.noteEvent(
            .input, "\(name) is on air (\(reason.word)) instead of \(before ?? "nothing")")
        let isLoss = reason == .disconnected || reason == .noVideo || next == .slate
        logger.log(
            level: isLoss ? .warning : reason == .start ? .info : .notice, "another input is on air",
            metadata: ["input": "\(name)", "reason": "\(reason.word)", "before": "\(before ?? "nothing")"])
    }
}

extension SourceSelector.Reason {
    /// The reason in one word, for the log and the status.
    var word: String { self == .noVideo ? "no_video" : rawValue }
}
