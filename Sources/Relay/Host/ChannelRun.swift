// SPDX-License-Identifier: Apache-2.0

internal import Channel
internal import Dispatch
internal import FanOut
internal import Foundation
internal import Logging
internal import Media
internal import Networking
internal import Status
internal import Synchronization

/// Runs one channel of the process on its own thread.
///
/// A channel from a configuration file is opened and run again if it fails for a reason that may pass. A missing
/// source, server or disk must not end the process, because other channels are on air in it. A channel from flags is
/// run once, and then the process ends.
///
/// Any thread may use it.
final class ChannelRun: Sendable {
    private struct State {
        var plan: ConfiguredChannel
        /// The channel that is on air, or that is ending.
        var channel: Channel?
        /// The opening of the channel, by which it can be cancelled; nil unless the channel is being opened.
        var opening: ChannelOpening?
        /// The names that the channel gave to the outputs of the configuration file.
        var names: [ConfiguredChannel.Output: String] = [:]
        /// The flags of the recording that is running.
        var recording: [String] = []
        /// Whether a part of the configuration could not be applied. The next reload then tries again.
        var isIncomplete = false
        var result: ChannelEnd?
        var wasTried = false
        var isEnding = false
    }

    private static let longestWait = Duration.seconds(30)
    /// If an attempt has lasted longer than this, from the beginning of its opening to its end, earlier failures no
    /// longer count.
    private static let stableTime = Duration.seconds(60)
    /// How long to wait for a port that another output has not released yet.
    private static let portPatience = Duration.seconds(5)

    let name: String
    /// The API's view of the channel.
    let control: ChannelControl
    /// The number that ``control`` has given to this run.
    private let number: Int
    /// Whether the channel was started together with the process. If it was, and its configuration does not fit its
    /// input at the first attempt, the channel ends instead of trying again.
    private let isFirst: Bool
    /// Whether the channel is reopened after a failure.
    private let isLasting: Bool
    private let resources: HostResources
    private let logger: Logger
    /// The objects that delete old files while the channel is not recorded: one for the record directory, and one for
    /// the second directory.
    private let idleRetention: (first: IdleRetention, second: IdleRetention)
    private let state: Mutex<State>
    private let ending = DispatchSemaphore(value: 0)
    private let over = DispatchGroup()

    /// Creates the run of a channel, but does not start it. With `isFirst`, a channel whose configuration does not fit
    /// its input at the first attempt ends; otherwise it is tried again, because the configuration may have fitted
    /// before. Without `isLasting`, the channel is opened only once. If this run replaces another one, `control` is
    /// that run's control, so that operators' changes remain in effect; otherwise it is nil.
    init(
        _ plan: ConfiguredChannel, isFirst: Bool, isLasting: Bool = true, control: ChannelControl? = nil,
        resources: HostResources, logger: Logger
    ) {
        name = plan.name
        (self.isFirst, self.isLasting) = (isFirst, isLasting)
        self.resources = resources
        var logger = logger
        logger[metadataKey: "channel"] = "\(plan.name)"
        self.logger = logger
        let control = control ?? ChannelControl(name: plan.name, recording: plan.configuration.recording)
        self.control = control
        number = control.begin()
        let first = IdleRetention(channel: plan.name, clock: resources.clock, logger: logger) { control.isArchiveBusy }
        let second = IdleRetention(channel: plan.name, clock: resources.clock, logger: logger) { control.isSecondBusy }
        idleRetention = (first, second)
        state = Mutex(State(plan: plan))
        configureIdleRetention(plan.configuration.recording)
    }

    /// Starts the channel, and returns at once. Calls `report` with the final status each time the channel goes off
    /// air, and `completion` when the channel has ended. Both closures are called on the channel's own thread.
    func start(report: @escaping @Sendable (ChannelStatus) -> Void, completion: @escaping @Sendable () -> Void) {
        over.enter()
        idleRetention.first.start()
        idleRetention.second.start()
        MediaThread.start("relay.\(name)") { [self] in
            let result = run(report)
            control.closed(.over, by: number, isDone: result == .done)
            state.withLock { $0.result = result }
            over.leave()
            completion()
        }
    }

    /// Asks the channel to end cleanly, and returns at once. If the channel is being opened, the opening is cancelled.
    func end() {
        let (channel, opening) = state.withLock { state in
            state.isEnding = true
            return (state.channel, state.opening)
        }
        idleRetention.first.stop()
        idleRetention.second.stop()
        channel?.end()
        opening?.cancel()
        ending.signal()
    }

    /// Waits until the channel has ended, for at most `limit`.
    func waitForEnd(_ limit: Duration) { _ = over.wait(timeout: .now() + .nanoseconds(Int(limit.inNanoseconds))) }

    /// The configuration with which the channel runs.
    var plan: ConfiguredChannel { state.withLock { $0.plan } }
    /// The channel, while it is open.
    var channel: Channel? { state.withLock { $0.channel } }
    /// Whether the channel is being opened, which may take as long as its inputs take to open.
    var isOpening: Bool { state.withLock { $0.opening != nil } }
    /// How the channel ended; nil while it has not ended.
    var result: ChannelEnd? { state.withLock { $0.result } }

    /// The service manager's view of the channel.
    var served: ServedChannel {
        let (channel, wasTried, isOver) = state.withLock { ($0.channel, $0.wasTried, $0.result != nil) }
        // If the channel is opened only once (`isLasting` is false), `wasTried` and `isOver` are reported as false.
        // When such a channel fails or ends, the process ends too, so the service manager sees the end of the process.
        return ServedChannel(
            name: name, status: channel?.status, wasTried: isLasting && wasTried, isOver: isLasting && isOver,
            heartbeats: channel?.heartbeats ?? [])
    }

    private func run(_ report: (ChannelStatus) -> Void) -> ChannelEnd {
        var failures = 0
        var wasOnAir = false
        var result = ChannelEnd.done
        while let (plan, opening) = begin() {
            let began = resources.clock.now
            do throws(ChannelFailure) {
                // A recording that cannot be started keeps the channel off air only at the channel's first attempt
                // after the start of the process, or if the channel has no outputs. Otherwise the stream has priority.
                let channel = try Channel(
                    control.wanted(plan.configuration), resources: resources, opening: opening,
                    canLackRecording: (!isFirst || failures > 0) && !plan.outputs.isEmpty, logger: logger)
                guard take(channel, plan) else {
                    opening.cancel()
                    break
                }
                opening.finish()
                result = run(channel, plan)
                wasOnAir = true
                report(channel.status)
            } catch {
                opening.cancel()
                result = .failed(error.cause)
                if !state.withLock({ $0.isEnding }) { logger.error("\(error)") } else { break }
            }
            let isEnding = state.withLock { state in
                (state.channel, state.opening, state.wasTried) = (nil, nil, true)
                return state.isEnding
            }
            let isMisconfigured = result == .failed(.configuration)
            // If relay refuses to record with the configured retention rules, these rules must not delete files either.
            if isMisconfigured { configureIdleRetention(nil) }
            let isOver = isEnding || !isLasting || result == .done || (isMisconfigured && isFirst && failures == 0)
            if isOver { return result }
            control.closed(.waiting, by: number, hasFailed: result == .failed(.internalError))
            if resources.clock.now - began > Self.stableTime { failures = 0 }
            failures += 1
            let wait = isMisconfigured ? Self.longestWait : min(Self.longestWait, .seconds(1 << min(failures - 1, 5)))
            logger.warning("the channel is opened again", metadata: ["delay_s": "\(wait.components.seconds)"])
            _ = ending.wait(timeout: .now() + .nanoseconds(Int(wait.inNanoseconds)))
        }
        // The channel was asked to end while it was being opened, or while it waited to be reopened.
        return wasOnAir ? .done : .failed(.nothingDelivered)
    }

    /// Puts the opened channel on air. Blocks until it has ended; returns how it ended.
    private func run(_ channel: Channel, _ plan: ConfiguredChannel) -> ChannelEnd {
        let recording = plan.configuration.recording
        let rules = (
            first: idleRetention.first.restore(recording), second: idleRetention.second.restore(recording?.second)
        )
        control.opened(channel, by: number)
        let result = channel.run(isLasting: isLasting)
        let recordings = channel.recordings
        if recordings.first.hasRecorded || channel.clips.hasRecorded { idleRetention.first.confirm(rules.first) }
        if recordings.second.hasRecorded { idleRetention.second.confirm(rules.second) }
        return result
    }

    /// Deletes old files by the rules of `recording` from now on; nil deletes nothing.
    private func configureIdleRetention(_ recording: ChannelConfiguration.Recording?) {
        idleRetention.first.configure(recording)
        idleRetention.second.configure(recording?.second)
    }

    /// Returns the configuration with which the channel is opened next, and the object that can cancel this opening;
    /// nil if the channel must end.
    private func begin() -> (ConfiguredChannel, ChannelOpening)? {
        let opening = ChannelOpening()
        control.closed(.opening, by: number)
        return state.withLock { state in
            if state.isEnding { return nil }
            state.opening = opening
            return (state.plan, opening)
        }
    }

    /// Stores the opened channel. Returns false if the channel was asked to end in the meantime.
    private func take(_ channel: Channel, _ plan: ConfiguredChannel) -> Bool {
        let names = zip(plan.outputs, plan.configuration.outputNames)
        return state.withLock { state in
            guard !state.isEnding else { return false }
            (state.channel, state.opening) = (channel, nil)
            state.names = Dictionary(names) { first, _ in first }
            (state.recording, state.isIncomplete) = (plan.recording, false)
            return true
        }
    }
}

// MARK: Changes

extension ChannelRun {
    /// Changes the running channel to the configuration `next`, if only outputs and recording differ. Outputs and a
    /// recording that have not changed continue to run. Returns false if the change is not possible; the caller must
    /// then restart the channel. Blocks as long as opening ports and directories takes. Only one call may run at a
    /// time.
    func change(to next: ConfiguredChannel) -> Bool {
        guard next.hasSameProgram(as: plan), let channel else { return false }
        let recording = state.withLock { state in
            (state.plan, state.isIncomplete) = (next, false)
            return state.recording
        }
        changeOutputs(of: channel, to: next)
        if next.recording != recording { changeRecording(of: channel, from: recording, to: next) }
        return true
    }

    /// Whether the channel runs with the configuration `next`, or ran with it until it ended, and all of it could be
    /// applied.
    func isAsAsked(_ next: ConfiguredChannel) -> Bool {
        state.withLock { !$0.isIncomplete && $0.plan.isIdentical(to: next) }
    }

    /// Returns the control for the run that replaces this one and has the configuration `next`. Operators' changes
    /// remain in effect, except where the file has changed.
    func control(for next: ConfiguredChannel) -> ChannelControl {
        let (plan, names) = state.withLock { ($0.plan, $0.names) }
        let wanted = Set(next.outputs)
        for (output, name) in names where !wanted.contains(output) { control.forget(output: name) }
        // Only the flags of the recording are compared, because the sources that can be recorded also depend on the
        // inputs.
        control.configure(recording: next.configuration.recording, isChanged: next.recording != plan.recording)
        return control
    }

    /// Logs that a part of the new configuration could not be applied, and records that for the next reload.
    private func fail(_ text: String) {
        logger.error("\(text); it is tried when the configuration file is read again")
        state.withLock { $0.isIncomplete = true }
    }

    private func changeOutputs(of channel: Channel, to next: ConfiguredChannel) {
        let wanted = Set(next.outputs)
        let gone = state.withLock { state in
            let gone = state.names.filter { !wanted.contains($0.key) }
            for output in gone.keys { state.names[output] = nil }
            return gone.values
        }
        for name in gone {
            control.forget(output: name)
            // An error is ignored, because an operator may have removed the output already.
            try? channel.outputs.remove(name)
            logger.notice("removed by the configuration file", metadata: ["output": "\(name)"])
        }
        for (output, specification) in zip(next.outputs, next.configuration.outputs) {
            guard state.withLock({ $0.names[output] == nil }) else { continue }
            add(output, specification, to: channel)
        }
    }

    private func add(_ output: ConfiguredChannel.Output, _ specification: OutputSpecification, to channel: Channel) {
        let deadline = resources.clock.now + Self.portPatience
        while true {
            do throws(OutputSetError) {
                let name = try channel.add(specification, origin: .file)
                state.withLock { $0.names[output] = name }
                return logger.notice("added by the configuration file", metadata: ["output": "\(name)"])
            } catch {
                // An output that is refused is tried again until the deadline, because the output that was removed may
                // still hold the port.
                guard case .refused = error, resources.clock.now < deadline else {
                    return fail("an output of the configuration file cannot be added: \(error)")
                }
                resources.clock.sleep(until: resources.clock.now + .milliseconds(200))
            }
        }
    }

    /// Replaces the recordings, which were made from the flags `before`. If only the second directory has changed, the
    /// recording in the record directory continues.
    private func changeRecording(of channel: Channel, from before: [String], to next: ConfiguredChannel) {
        defer { control.configure(recording: next.configuration.recording, isChanged: true) }
        do {
            channel.stopClips()
            if let recording = next.configuration.recording, recording.isForClips {
                try endRecording(of: channel)
                logger.notice("nothing but clips is recorded by the configuration file")
            } else if let recording = next.configuration.recording {
                let keepsFirst = ConfiguredChannel.first(next.recording) == ConfiguredChannel.first(before)
                if try channel.replaceRecording(recording, keepsFirst: keepsFirst) {
                    logger.notice(
                        keepsFirst
                            ? "the second record directory is changed by the configuration file"
                            : "the recording starts again, as the configuration file says")
                }
            } else {
                try endRecording(of: channel)
                logger.notice("the recording is ended by the configuration file")
            }
            channel.keepReplay(of: next.configuration.recording)
            channel.keepPackets(of: next.configuration.recording)
            state.withLock { $0.recording = next.recording }
            configureIdleRetention(next.configuration.recording)
        } catch {
            configureIdleRetention(nil)
            fail(
                "the recording of the configuration file cannot be started, and the recording before it continues: \(error)"
            )
        }
    }

    private func endRecording(of channel: Channel) throws(RecordingSlotError) {
        do throws(RecordingSlotError) {
            try channel.stopRecording()
        } catch {
            // The failure `notRecording` is ignored, because an operator may have stopped the recording already.
            guard error == .notRecording else { throw error }
        }
    }
}
