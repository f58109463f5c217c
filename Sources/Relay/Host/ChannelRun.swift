// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import Foundation
internal import Logging
internal import Media
internal import Synchronization

/// One channel of a configuration file, on a thread of its own: opened and run, and again where that fails for a reason
/// that may pass. An absent source, target or disk is no reason to end the process, in which others are on air.
///
/// All calls may come from any thread.
final class ChannelRun: Sendable {
    private struct State {
        var plan: ConfiguredChannel
        /// On air, or being ended.
        var channel: Channel?
        /// While it is being opened.
        var opening: ChannelOpening?
        /// The names under which its outputs run.
        var names: [ConfiguredChannel.Output: String] = [:]
        var status: ExitStatus?
        var isEnding = false
    }

    private static let longestWait = Duration.seconds(30)
    /// How long a port may take until whoever used it has given it up.
    private static let portPatience = Duration.seconds(5)

    let name: String
    private let resources: HostResources
    private let logger: Logger
    private let state: Mutex<State>
    private let ending = DispatchSemaphore(value: 0)
    private let over = DispatchGroup()

    /// A channel that does not run yet.
    init(_ plan: ConfiguredChannel, resources: HostResources, logger: Logger) {
        name = plan.name
        self.resources = resources
        var logger = logger
        logger[metadataKey: "channel"] = "\(plan.name)"
        self.logger = logger
        state = Mutex(State(plan: plan))
    }

    /// Begins, and calls `completion` when the channel is over. `report` is told what it has to show each time that it
    /// was on air. Returns at once; both are called on a thread of the channel's own.
    func start(report: @escaping @Sendable (ChannelStatus) -> Void, completion: @escaping @Sendable () -> Void) {
        over.enter()
        let thread = Thread { [self] in
            let status = run(report)
            state.withLock { $0.status = status }
            over.leave()
            completion()
        }
        thread.name = "relay.channel.\(name)"
        // As much as a main thread has: x264 and libavcodec run on it.
        thread.stackSize = 8 << 20
        thread.start()
    }

    /// Asks for a clean end. Returns at once; one that is still being opened is given up.
    func end() {
        let (channel, opening) = state.withLock { state in
            state.isEnding = true
            return (state.channel, state.opening)
        }
        channel?.end()
        opening?.cancel()
        ending.signal()
    }

    /// Waits until the channel is over, `limit` at most.
    func waitForEnd(_ limit: Duration) { _ = over.wait(timeout: .now() + .nanoseconds(Int(limit.inNanoseconds))) }

    /// What the file says of it.
    var plan: ConfiguredChannel { state.withLock { $0.plan } }
    /// The channel, while it is open.
    var channel: Channel? { state.withLock { $0.channel } }
    /// How it ended; nil before.
    var status: ExitStatus? { state.withLock { $0.status } }

    private func run(_ report: (ChannelStatus) -> Void) -> ExitStatus {
        var failures = 0
        while true {
            let plan = plan
            let opening = ChannelOpening()
            state.withLock { $0.opening = $0.isEnding ? nil : opening }
            var status = ExitStatus.done
            var failure: RelayFailure?
            do throws(RelayFailure) {
                let channel = try Channel(plan.configuration, resources: resources, opening: opening, logger: logger)
                guard take(channel, plan) else { return .done }
                status = channel.run()
                report(channel.status)
            } catch {
                (status, failure) = (error.status, error)
            }
            let isEnding = state.withLock { state in
                (state.channel, state.opening) = (nil, nil)
                return state.isEnding
            }
            if let failure, !isEnding { logger.error("\(failure)") }
            guard !isEnding, ![.done, .usage].contains(status) else { return status }
            failures += 1
            let wait = min(Self.longestWait, .seconds(1 << min(failures - 1, 5)))
            logger.warning("the channel is opened again", metadata: ["delay_s": "\(wait.components.seconds)"])
            _ = ending.wait(timeout: .now() + .nanoseconds(Int(wait.inNanoseconds)))
            if state.withLock({ $0.isEnding }) { return status }
        }
    }

    /// Whether the channel, which is open now, is still wanted.
    private func take(_ channel: Channel, _ plan: ConfiguredChannel) -> Bool {
        let names = zip(plan.outputs, plan.configuration.outputNames)
        return state.withLock { state in
            guard !state.isEnding else { return false }
            (state.channel, state.opening) = (channel, nil)
            state.names = Dictionary(names) { first, _ in first }
            return true
        }
    }
}

// MARK: Changes

extension ChannelRun {
    /// Makes of the channel on air what `next` says, if that differs in outputs and recording alone: what is unchanged is
    /// not touched. Returns whether it did; the channel must be started anew otherwise. Blocks as long as ports and
    /// directories take. One call at a time.
    func change(to next: ConfiguredChannel) -> Bool {
        let old = plan
        guard next.hasSameProgram(as: old), let channel else { return false }
        state.withLock { $0.plan = next }
        changeOutputs(of: channel, to: next)
        if next.recording != old.recording { changeRecording(of: channel, to: next, from: old) }
        return true
    }

    private func changeOutputs(of channel: Channel, to next: ConfiguredChannel) {
        let wanted = Set(next.outputs)
        let gone = state.withLock { state in
            let gone = state.names.filter { !wanted.contains($0.key) }
            for output in gone.keys { state.names[output] = nil }
            return gone.values
        }
        for name in gone {
            // It may have been removed meanwhile.
            try? channel.outputs.remove(name)
            logger.notice("removed by the configuration file", metadata: ["output": "\(name)"])
        }
        for (output, specification) in zip(next.outputs, next.configuration.outputs) {
            guard state.withLock({ $0.names[output] == nil }) else { continue }
            add(output, specification, to: channel)
        }
    }

    private func add(_ output: ConfiguredChannel.Output, _ specification: OutputSpecification, to channel: Channel) {
        let deadline = resources.clock.now + Self.portPatience.inNanoseconds
        while true {
            do throws(OutputSetError) {
                let name = try channel.add(specification)
                state.withLock { $0.names[output] = name }
                return logger.notice("added by the configuration file", metadata: ["output": "\(name)"])
            } catch {
                // An output that was changed may still hold the port.
                guard case .refused = error, resources.clock.now < deadline else {
                    return logger.error("an output of the configuration file cannot be added: \(error)")
                }
                resources.clock.sleep(until: resources.clock.now + 200_000_000)
            }
        }
    }

    private func changeRecording(of channel: Channel, to next: ConfiguredChannel, from old: ConfiguredChannel) {
        do {
            if old.configuration.recording != nil { try? channel.stopRecording() }
            guard let recording = next.configuration.recording else { return }
            try channel.startRecording(recording)
            logger.notice("the recording begins anew by the configuration file")
        } catch {
            logger.error("the recording of the configuration file cannot be started: \(error)")
        }
    }
}
