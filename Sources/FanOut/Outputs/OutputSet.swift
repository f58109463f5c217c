// SPDX-License-Identifier: Apache-2.0

package import Dispatch
package import Logging
package import Media
internal import Synchronization

/// One live output, as it is asked for.
package struct OutputDefinition: Sendable {
    /// The output's name, unique in its set.
    package var name: String
    /// Which further encoding of the program it takes; nil for the program's own.
    package var rendition: String?
    /// Where it goes.
    package var target: any OutputTarget
    /// Where it goes when the target does not serve.
    package var backup: (any OutputTarget)?
    /// The bounds of its queue.
    package var limits: QueueLimits
    /// How long it keeps trying.
    package var retry: RetryPolicy
    /// Who asked for it.
    package var origin: OutputOrigin

    /// An output of these values.
    package init(
        name: String, rendition: String? = nil, target: any OutputTarget, backup: (any OutputTarget)? = nil,
        limits: QueueLimits = .live, retry: RetryPolicy = RetryPolicy(), origin: OutputOrigin = .flags
    ) {
        (self.name, self.rendition) = (name, rendition)
        self.target = target
        self.backup = backup
        self.limits = limits
        self.retry = retry
        self.origin = origin
    }
}

/// Why a change of the set of outputs was not made.
package enum OutputSetError: Error, Sendable, Equatable, CustomStringConvertible {
    /// There is an output of this name.
    case nameTaken(String)
    /// There is no output of this name.
    case unknown(String)
    /// The program is over.
    case over
    /// The output of this name cannot carry the program, for this reason.
    case refused(String, reason: String)

    package var description: String {
        switch self {
        case .nameTaken(let name): "There is an output \(name) already; outputs have names of their own."
        case .unknown(let name): "There is no output \(name)."
        case .over: "The program is over."
        case .refused(let name, let reason): "The output \(name): \(reason)"
        }
    }
}

/// The live outputs of a program: the one place where they are added, removed, paused and tried again while it runs.
///
/// No change is felt by another output: none waits for a lock while another connects or ends, and none gets another byte
/// because of it. All calls may come from any thread and return at once.
package final class OutputSet: Sendable {
    private struct State {
        var outputs: [OutputSupervisor] = []
        /// Removed, and still saying goodbye.
        var leaving: [OutputSupervisor] = []
        var isRunning = false
        var isOver = false
    }

    /// How long a removed output may take to send its rest.
    private static let teardown = Duration.milliseconds(2600)

    private let stream: PacketStream
    /// Further encodings of the program, by their names.
    private let renditions: [String: PacketStream]
    private let clock: any MonotonicClock
    private let timers: any OutputTimers
    private let logger: Logger
    private let state = Mutex(State())

    /// An empty set whose outputs are fed by `stream`, or by the one of `renditions` that they name.
    package init(
        stream: PacketStream, renditions: [String: PacketStream] = [:], clock: any MonotonicClock = SystemClock(),
        timers: any OutputTimers = SystemTimers(), logger: Logger
    ) {
        (self.stream, self.renditions) = (stream, renditions)
        self.clock = clock
        self.timers = timers
        self.logger = logger
    }

    /// What an operator sees of each output, in the order in which they were added.
    package var statuses: [OutputStatus] { state.withLock { $0.outputs }.map(\.status) }

    /// Adds an output. Once the program runs, it begins to connect at once and joins at the next keyframe.
    package func add(_ definition: OutputDefinition) throws(OutputSetError) {
        try change { (state) throws(OutputSetError) in
            guard !state.outputs.contains(where: { $0.name == definition.name }) else {
                throw .nameTaken(definition.name)
            }
            try append(definition, isPaused: false, to: &state)
        }
    }

    /// Puts an output in the place of the one of the same name, which ends as ``remove(_:)`` says. If the new one cannot
    /// carry the program, nothing is changed. One that is to be paused makes no connection.
    package func replace(by definition: OutputDefinition, isPaused: Bool = false) throws(OutputSetError) {
        let old = try change { (state) throws(OutputSetError) in
            guard let index = state.outputs.firstIndex(where: { $0.name == definition.name }) else {
                throw .unknown(definition.name)
            }
            try append(definition, isPaused: isPaused, to: &state)
            // In its place, so that an operator finds it where it was.
            let old = state.outputs[index]
            state.outputs[index] = state.outputs.removeLast()
            state.leaving.append(old)
            return old
        }
        leave(old)
    }

    /// Removes an output. It sends the rest of what it has, within 2.6 s, and ends by the protocol's rules.
    package func remove(_ name: String) throws(OutputSetError) {
        let output = try change { (state) throws(OutputSetError) in
            guard let index = state.outputs.firstIndex(where: { $0.name == name }) else { throw .unknown(name) }
            let output = state.outputs.remove(at: index)
            state.leaving.append(output)
            return output
        }
        leave(output)
    }

    private func append(
        _ definition: OutputDefinition, isPaused: Bool, to state: inout State
    ) throws(OutputSetError) {
        guard !state.isOver else { throw .over }
        guard let stream = stream(of: definition.rendition) else {
            throw .refused(definition.name, reason: "There is no rendition \(definition.rendition ?? "").")
        }
        for target in [definition.target, definition.backup].compactMap(\.self) {
            guard let reason = target.carriage.refusal(of: stream.description) else { continue }
            throw .refused(definition.name, reason: reason)
        }
        let output = OutputSupervisor(
            name: definition.name, rendition: definition.rendition, target: definition.target,
            backup: definition.backup,
            description: stream.description, limits: definition.limits, retry: definition.retry,
            origin: definition.origin, joinsRunningProgram: state.isRunning, keyframes: stream, clock: clock,
            timers: timers, logger: logger)
        state.outputs.append(output)
        if isPaused { output.pause() }
        if state.isRunning { begin(output) }
    }

    private func leave(_ output: OutputSupervisor) {
        stream(of: output.rendition)?.remove(output)
        output.finish(deadline: clock.now + Self.teardown.inNanoseconds) { [weak self] in
            self?.state.withLock { state in state.leaving.removeAll { $0 === output } }
        }
    }

    /// Takes an output off air until ``resume(_:)``.
    package func pause(_ name: String) throws(OutputSetError) { try output(name).pause() }

    /// Puts a paused output on air again, at the next keyframe.
    package func resume(_ name: String) throws(OutputSetError) { try output(name).resume() }

    /// Tries an output that waits, or gave up, at once.
    package func retryNow(_ name: String) throws(OutputSetError) { try output(name).retryNow() }

    /// Waits until what was asked of an output before has taken effect, which no I/O holds up.
    package func waitUntilDone(_ name: String) throws(OutputSetError) { try output(name).waitUntilDone() }

    /// The program begins: every output connects.
    package func start() {
        state.withLock { state in
            state.isRunning = true
            for output in state.outputs { begin(output) }
        }
    }

    /// No packet follows, for this reason: every output ends by `deadline` (monotonic nanoseconds) and leaves `group` when
    /// it has.
    package func finish(deadline: Int64, reason: EndReason, in group: DispatchGroup) {
        let outputs = state.withLock { state in
            state.isOver = true
            return state.outputs + state.leaving
        }
        for output in outputs {
            group.enter()
            output.finish(deadline: deadline, reason: reason) { group.leave() }
        }
    }

    private func begin(_ output: OutputSupervisor) {
        stream(of: output.rendition)?.add(output)
        output.start()
    }

    /// The stream that feeds an output of this rendition; nil if no rendition has this name.
    private func stream(of rendition: String?) -> PacketStream? {
        guard let rendition else { return stream }
        return renditions[rendition]
    }

    private func output(_ name: String) throws(OutputSetError) -> OutputSupervisor {
        guard let output = state.withLock({ $0.outputs.first { $0.name == name } }) else { throw .unknown(name) }
        return output
    }

    private func change<R: Sendable>(
        _ body: (inout State) throws(OutputSetError) -> R
    ) throws(OutputSetError) -> R {
        try state.withLock { (state) throws(OutputSetError) in try body(&state) }
    }
}
