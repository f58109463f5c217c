// SPDX-License-Identifier: Apache-2.0

package import Dispatch
package import Logging
package import Media
internal import Synchronization

/// What defines one live output.
package struct OutputDefinition: Sendable {
    /// The output's name, unique in its ``OutputSet``.
    package var name: String
    /// The rendition that the output sends; nil for the program's main encoding.
    package var rendition: String?
    /// Where the output publishes or listens.
    package var target: any OutputTarget
    /// The target that is used while the main target does not work.
    package var backup: (any OutputTarget)?
    /// The limits of the output's packet queue.
    package var limits: QueueLimits
    /// When the output tries again after a failure.
    package var retry: RetryPolicy
    /// Where the output was defined.
    package var origin: OutputOrigin
    /// A value that is retained until the output has ended, for example to count the file descriptors that the output
    /// uses.
    package var registration: (any Sendable)?

    package init(
        name: String, rendition: String? = nil, target: any OutputTarget, backup: (any OutputTarget)? = nil,
        limits: QueueLimits = .live, retry: RetryPolicy = RetryPolicy(), origin: OutputOrigin = .flags,
        registration: (any Sendable)? = nil
    ) {
        (self.name, self.rendition) = (name, rendition)
        self.target = target
        self.backup = backup
        self.limits = limits
        self.retry = retry
        self.origin = origin
        self.registration = registration
    }
}

/// Why an operator's request to change the outputs was refused.
package enum OutputSetError: Error, Sendable, Equatable, CustomStringConvertible {
    /// There is already an output with this name.
    case nameTaken(String)
    /// There is no output with this name.
    case unknown(String)
    /// The program is over, so outputs can no longer be changed.
    case over
    /// The output with this name cannot be added, because it cannot carry the program's codecs, or because its
    /// rendition does not exist. `reason` says which.
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

/// The live outputs of a program. Callers add, remove, pause and retry outputs here, also while the program runs.
///
/// A change of one output does not affect the others: while an output connects or ends, no other output waits for a
/// lock, and the others continue to get all packets. Methods may be called on any thread and return at once.
package final class OutputSet: Sendable {
    struct State {
        var outputs: [OutputSupervisor] = []
        /// Removed outputs that have not ended yet, because they still send the rest of their queues.
        var leaving: [OutputSupervisor] = []
        /// Outputs that must not start yet, because an output in `leaving` still uses their place, such as a port, or
        /// because the disk has not answered yet whether it does. See ``OutputPlace``.
        var held: [OutputSupervisor] = []
        /// Keeps the ``OutputDefinition/registration`` of each output until the output has ended.
        var registrations: [ObjectIdentifier: any Sendable] = [:]
        var isRunning = false
        var isOver = false
    }

    /// How long a removed output may take to send the rest of its queue.
    private static let teardown = Duration.milliseconds(2600)

    private let stream: PacketStream
    /// The streams of the program's additional encodings, by rendition name.
    private let renditions: [String: PacketStream]
    private let clock: any MonotonicClock
    private let timers: any OutputTimers
    private let logger: Logger
    let state = Mutex(State())
    /// The queue on which disks are asked which directories outputs need.
    let asking = DispatchQueue(label: "relay.places", qos: .utility)

    /// Creates an empty set. An output gets its packets from `stream`. If it has a rendition, it gets them from that
    /// rendition's stream in `renditions`.
    package init(
        stream: PacketStream, renditions: [String: PacketStream] = [:], clock: any MonotonicClock = SystemClock(),
        timers: any OutputTimers = SystemTimers(), logger: Logger
    ) {
        (self.stream, self.renditions) = (stream, renditions)
        self.clock = clock
        self.timers = timers
        self.logger = logger
    }

    /// The status of each output, in the order in which the outputs were added.
    package var statuses: [OutputStatus] { state.withLock { $0.outputs }.map(\.status) }

    /// The addresses, without secrets, that ending outputs still use. If `name` is given, the addresses of the output
    /// with this name, which will be replaced, are included.
    package func leavingAddresses(replacing name: String? = nil) -> Set<String> {
        let outputs = state.withLock { state in state.leaving + state.outputs.filter { $0.name == name } }
        return Set(outputs.flatMap { [$0.primary, $0.backup].compactMap(\.self) }.map { $0.displayAddress })
    }

    /// Adds an output. If the program is running, the output connects at once, unless it must wait for the place of a
    /// removed output, and begins at the next keyframe.
    package func add(_ definition: OutputDefinition) throws(OutputSetError) {
        try change { (state) throws(OutputSetError) in
            guard !state.outputs.contains(where: { $0.name == definition.name }) else {
                throw .nameTaken(definition.name)
            }
            let output = try append(definition, isPaused: false, to: &state)
            if state.isRunning { begin(output, in: &state) }
        }
        warnOfRotation(definition)
    }

    /// Replaces the output that has the same name as `definition`. The old output ends as if by ``remove(_:)``. If the
    /// new output cannot carry the program, the old output stays. With `isPaused`, the new output does not connect
    /// until ``resume(_:)``.
    package func replace(by definition: OutputDefinition, isPaused: Bool = false) throws(OutputSetError) {
        let old = try change { (state) throws(OutputSetError) in
            guard let index = state.outputs.firstIndex(where: { $0.name == definition.name }) else {
                throw .unknown(definition.name)
            }
            let next = try append(definition, isPaused: isPaused, to: &state)
            // The new output gets the old output's index, so that operators see it at the same position in lists.
            let old = state.outputs[index]
            state.outputs[index] = state.outputs.removeLast()
            depart(old, in: &state)
            if state.isRunning { begin(next, in: &state) }
            return old
        }
        leave(old)
        warnOfRotation(definition)
    }

    /// Removes an output. It still sends the rest of its queue, for at most 2.6 s, and ends by its protocol's rules.
    package func remove(_ name: String) throws(OutputSetError) {
        let output = try change { (state) throws(OutputSetError) in
            guard let index = state.outputs.firstIndex(where: { $0.name == name }) else { throw .unknown(name) }
            let output = state.outputs.remove(at: index)
            depart(output, in: &state)
            return output
        }
        leave(output)
    }

    /// Logs a warning if the video of an added output is rotated, because outputs do not carry the rotation. Called
    /// without the lock, because the log can block.
    private func warnOfRotation(_ definition: OutputDefinition) {
        guard stream(of: definition.rendition)?.description.video?.displayMatrix != nil else { return }
        logger.warning(
            "the rotation of the video is not carried: its frames are sent as they are coded",
            metadata: ["output": "\(definition.name)"])
    }

    private func append(
        _ definition: OutputDefinition, isPaused: Bool, to state: inout State
    ) throws(OutputSetError) -> OutputSupervisor {
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
        state.registrations[ObjectIdentifier(output)] = definition.registration
        if isPaused { output.pause() }
        return output
    }

    private func depart(_ output: OutputSupervisor, in state: inout State) {
        state.held.removeAll { $0 === output }
        state.leaving.append(output)
    }

    private func leave(_ output: OutputSupervisor) {
        stream(of: output.rendition)?.remove(output)
        output.leave { [weak self] in self?.startHeld() }
        output.finish(deadline: clock.now + Self.teardown) { [weak self] in
            self?.left(output)
        }
    }

    /// Forgets a removed output that has ended, and starts the outputs that waited for its place.
    private func left(_ output: OutputSupervisor) {
        state.withLock { $0.leaving.removeAll { $0 === output } }
        forgetRegistration(of: output)
        startHeld()
    }

    /// Releases the registration of an output that has ended. The release can run code of the registration's owner, so
    /// it happens outside of the lock.
    private func forgetRegistration(of output: OutputSupervisor) {
        _ = state.withLock { $0.registrations.removeValue(forKey: ObjectIdentifier(output)) }
    }

    /// Starts the outputs that need not wait any more.
    func startHeld() {
        state.withLock { state in
            guard !state.isOver else { return }
            let held = state.held
            state.held = []
            for output in held { start(output, in: &state) }
        }
    }

    /// Takes an output off air until ``resume(_:)``.
    package func pause(_ name: String) throws(OutputSetError) { try output(name).pause() }

    /// Puts a paused output on air again, beginning at the next keyframe.
    package func resume(_ name: String) throws(OutputSetError) { try output(name).resume() }

    /// Makes an output try at once if it waits for its next attempt or has given up. An output that is on air at its
    /// backup probes its primary address at once.
    package func retryNow(_ name: String) throws(OutputSetError) { try output(name).retryNow() }

    /// Waits until all earlier calls for the output `name` have taken effect. This is quick, because it never waits for
    /// I/O.
    package func waitUntilDone(_ name: String) throws(OutputSetError) { try output(name).waitUntilDone() }

    /// Starts all outputs, because the program starts.
    package func start() {
        state.withLock { state in
            state.isRunning = true
            for output in state.outputs { begin(output, in: &state) }
        }
    }

    /// Ends all outputs cleanly because no packets follow, by `deadline` at the latest. `reason` says why. For each
    /// output, the call enters `group`, and leaves the group when that output has ended.
    package func finish(deadline: MonotonicInstant, reason: EndReason, in group: DispatchGroup) {
        let outputs = state.withLock { state in
            state.isOver = true
            return state.outputs + state.leaving
        }
        for output in outputs {
            group.enter()
            output.finish(deadline: deadline, reason: reason) { [weak self] in
                self?.forgetRegistration(of: output)
                group.leave()
            }
        }
    }

    private func begin(_ output: OutputSupervisor, in state: inout State) {
        stream(of: output.rendition)?.add(output)
        start(output, in: &state)
    }

    /// The packet stream for outputs of this rendition; nil if there is no such rendition.
    private func stream(of rendition: String?) -> PacketStream? {
        guard let rendition else { return stream }
        return renditions[rendition]
    }

    private func output(_ name: String) throws(OutputSetError) -> OutputSupervisor {
        guard let output = state.withLock({ $0.outputs.first { $0.name == name } }) else { throw .unknown(name) }
        return output
    }

    private func change<R: Sendable>(_ body: (inout State) throws(OutputSetError) -> R) throws(OutputSetError) -> R {
        try state.withLock { (state) throws(OutputSetError) in try body(&state) }
    }
}
