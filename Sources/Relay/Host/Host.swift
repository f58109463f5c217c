// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import Logging
internal import Synchronization

/// The process: runs channels, owns what they share, shows their status and answers signals.
///
/// All calls may come from any thread.
final class Host: Sendable {
    private static let signals = [SIGINT, SIGTERM, SIGHUP]

    private struct State {
        var channels: [Channel] = []
        var isEnding = false
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
        let sources = watchSignals()
        defer { for source in sources { source.cancel() } }
        do throws(RelayFailure) {
            let channel = try Channel(configuration, resources: resources, logger: logger)
            let isEnding = state.withLock { state in
                state.channels.append(channel)
                return state.isEnding
            }
            defer { state.withLock { state in state.channels.removeAll { $0 === channel } } }
            if isEnding { return .nothingDelivered }
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
    /// SIGUSR1 begins a new file. Of the others the first ends cleanly; the second, or the first before there is anything
    /// to end, ends at once.
    private func watchSignals() -> [any DispatchSourceSignal] {
        signal(SIGPIPE, SIG_IGN)
        let cut = watch(SIGUSR1) { for channel in $0.channels { channel.cutRecording() } }
        return [cut] + Self.signals.map { watch($0) { $0.handleSignal() } }
    }

    private func watch(_ number: CInt, _ body: @escaping @Sendable (Host) -> Void) -> any DispatchSourceSignal {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        source.setEventHandler { body(self) }
        source.activate()
        return source
    }

    private func handleSignal() {
        let (channels, wasEnding) = state.withLock { state in
            defer { state.isEnding = true }
            return (state.channels, state.isEnding)
        }
        guard !channels.isEmpty, !wasEnding else {
            logger.warning("ended at once")
            terminal.close()
            _exit(channels.isEmpty ? ExitStatus.nothingDelivered.rawValue : ExitStatus.done.rawValue)
        }
        logger.info("ending; once more to end at once")
        for channel in channels { channel.end() }
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
