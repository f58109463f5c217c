// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import Logging
internal import Synchronization

/// One run of the process: builds the channel, shows its status, and answers signals.
final class Session: Sendable {
    private static let signals = [SIGINT, SIGTERM, SIGHUP]

    private struct State {
        var channel: Channel?
        var isEnding = false
        var last: (status: ChannelStatus, at: DispatchTime)?
        var ticks = 0
    }

    private let configuration: ChannelConfiguration
    private let terminal: Terminal
    private let logger: Logger
    private let queue = DispatchQueue(label: "relay.session")
    private let state = Mutex(State())

    init(_ configuration: ChannelConfiguration, terminal: Terminal) {
        self.configuration = configuration
        self.terminal = terminal
        logger = Logger(label: "relay")
    }

    /// Runs to the end, on the calling thread.
    func run() -> ExitStatus {
        let sources = watchSignals()
        defer { for source in sources { source.cancel() } }
        do {
            let channel = try Channel(configuration, logger: logger)
            let isEnding = state.withLock { state in
                state.channel = channel
                return state.isEnding
            }
            if isEnding { return .nothingDelivered }
            let timer = showStatus()
            defer { timer.cancel() }
            let status = channel.run()
            report(channel.status)
            return status
        } catch let failure as RelayFailure {
            logger.error("\(failure)")
            return failure.status
        } catch {
            logger.critical("\(error)")
            return .internalError
        }
    }

    /// SIGUSR1 begins a new file. Of the others the first ends cleanly; the second, or the first before there is anything to end, ends at once.
    private func watchSignals() -> [any DispatchSourceSignal] {
        signal(SIGPIPE, SIG_IGN)
        let cut = watch(SIGUSR1) { $0.state.withLock { $0.channel }?.cutRecording() }
        return [cut] + Self.signals.map { watch($0) { $0.handleSignal() } }
    }

    private func watch(_ number: CInt, _ body: @escaping @Sendable (Session) -> Void) -> any DispatchSourceSignal {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        source.setEventHandler { body(self) }
        source.activate()
        return source
    }

    private func handleSignal() {
        let (channel, wasEnding) = state.withLock { state in
            defer { state.isEnding = true }
            return (state.channel, state.isEnding)
        }
        guard let channel, !wasEnding else {
            logger.warning("ended at once")
            terminal.close()
            _exit(channel == nil ? ExitStatus.nothingDelivered.rawValue : ExitStatus.done.rawValue)
        }
        logger.info("ending; once more to end at once")
        channel.end()
    }

    private func showStatus() -> any DispatchSourceTimer {
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + 1, repeating: 1, leeway: .milliseconds(50))
        timer.setEventHandler { self.tick() }
        timer.activate()
        return timer
    }

    private func tick() {
        guard let channel = state.withLock({ $0.channel }) else { return }
        let status = channel.status
        let now = DispatchTime.now()
        let (last, ticks) = state.withLock { state in
            defer {
                state.last = (status, now)
                state.ticks += 1
            }
            return (state.last, state.ticks)
        }
        let interval = last.map { Double(now.uptimeNanoseconds - $0.at.uptimeNanoseconds) / 1e9 } ?? 0
        let block = StatusBlock(now: status, before: last?.status, interval: interval)
        terminal.show(block.lines)
        // A log is read later: once a minute is enough.
        if !terminal.showsStatus, ticks > 0, ticks % 60 == 0 { logger.info("status: \(block.line)") }
    }

    private func report(_ status: ChannelStatus) {
        terminal.show([])
        logger.info("done: \(StatusBlock(now: status, before: nil, interval: 0).summary)")
    }
}
