// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import Logging
internal import Media
internal import Synchronization

/// The process: runs channels, owns what they share, shows their status and answers signals.
///
/// All calls may come from any thread.
final class Host: Sendable {
    private struct State {
        var channels: [Channel] = []
        var endRequests = EndRequests()
        var last: [String: (status: ChannelStatus, at: DispatchTime)] = [:]
        var ticks = 0
    }

    private let resources = HostResources()
    private let terminal: Terminal
    private let logger: Logger
    private let queue = DispatchQueue(label: "relay.host")
    private let state = Mutex(State())

    /// A host without channels, which shows their status on `terminal`.
    init(terminal: Terminal) {
        self.terminal = terminal
        logger = Logger(label: "relay")
    }

    /// Runs one channel to its end, on the calling thread. Signals are answered meanwhile.
    func run(_ configuration: ChannelConfiguration) -> ExitStatus {
        let signals = watchSignals()
        defer { signals.cancel() }
        do throws(RelayFailure) {
            let channel = try Channel(configuration, resources: resources, logger: logger)
            state.withLock { $0.channels.append(channel) }
            defer {
                // First, because a signal to a process without channels is taken for one during its start.
                signals.cancel()
                queue.sync {}
                state.withLock { state in state.channels.removeAll { $0 === channel } }
            }
            let timer = showStatus()
            defer { timer.cancel() }
            let status = channel.run()
            report(channel.status)
            return status
        } catch {
            logger.error("\(error)")
            return error.status
        }
    }

    private var channels: [Channel] { state.withLock { $0.channels } }
}

// MARK: Signals

extension Host {
    /// SIGUSR1 begins a new file of each recording, SIGUSR2 tries the outputs again that nothing else would. The signals
    /// that ask for the end do so cleanly, or at once: see ``EndRequests``.
    private func watchSignals() -> ProcessSignals {
        var signals = ProcessSignals(queue: queue)
        signals.watch(SIGUSR1) { for channel in self.channels { channel.cutRecording() } }
        signals.watch(SIGUSR2) { for channel in self.channels { channel.retryOutputs(because: "SIGUSR2") } }
        for number in ProcessSignals.endRequests { signals.watch(number) { self.endRequested(by: number) } }
        return signals
    }

    private func endRequested(by number: CInt) {
        let (channels, answer) = state.withLock { state in
            (state.channels, state.endRequests.received(at: resources.clock.now))
        }
        switch answer {
        // Before there is anything to end cleanly, the first ends at once.
        case _ where channels.isEmpty: endAtOnce(ExitStatus.nothingDelivered.rawValue)
        case .end:
            logger.info("ending; once more to end at once")
            for channel in channels { channel.end() }
        case .ignore: break
        case .endAtOnce: endAtOnce(128 + number)
        }
    }

    private func endAtOnce(_ code: CInt) -> Never {
        logger.warning("ended at once")
        terminal.close()
        _exit(code)
    }
}

// MARK: Status

extension Host {
    private func showStatus() -> any DispatchSourceTimer {
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + 1, repeating: 1, leeway: .milliseconds(50))
        timer.setEventHandler { self.tick() }
        timer.activate()
        return timer
    }

    private func tick() {
        let blocks = channels.map(block)
        guard !blocks.isEmpty else { return }
        terminal.show(blocks.flatMap(\.lines))
        let ticks = state.withLock { state in
            defer { state.ticks += 1 }
            return state.ticks
        }
        // A log is read later: once a minute is enough.
        guard !terminal.showsStatus, ticks > 0, ticks % 60 == 0 else { return }
        for block in blocks { logger.info("status: \(block.line)") }
    }

    private func block(_ channel: Channel) -> StatusBlock {
        let (status, now) = (channel.status, DispatchTime.now())
        let last = state.withLock { $0.last.updateValue((status, now), forKey: channel.name) }
        let interval = last.map { Double(now.uptimeNanoseconds - $0.at.uptimeNanoseconds) / 1e9 } ?? 0
        return StatusBlock(now: status, before: last?.status, interval: interval)
    }

    private func report(_ status: ChannelStatus) {
        terminal.show([])
        logger.info("done: \(StatusBlock(now: status, before: nil, interval: 0).summary)")
    }
}
