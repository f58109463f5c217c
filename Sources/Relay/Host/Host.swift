// SPDX-License-Identifier: Apache-2.0

internal import Channel
internal import Control
internal import Dispatch
internal import FanOut
internal import Glibc
internal import Library
internal import Logging
internal import Media
internal import Networking
internal import Publisher
internal import RTMP
internal import SRT
internal import Segmenter
internal import Status
internal import Studio
internal import Synchronization

/// The process: it runs channels, owns the resources that they share, shows their status and handles signals.
///
/// Any thread may use it.
///
/// ```swift
/// let host = Host(terminal: terminal, notifier: ServiceNotifier.take())
/// let status = host.run(try HostConfiguration(reading: "/etc/relay/relay.yaml"))
/// ```
final class Host: Sendable {
    private struct State {
        var runs: [ChannelRun] = []
        /// The number of reloads that wait or run.
        var reloads = 0
        var endRequests = EndRequests()
        var isEnding = false
        var last: [String: (status: ChannelStatus, at: DispatchTime)] = [:]
        var ticks = 0
    }

    /// The path of the configuration file, for the API; nil if the process was started with flags.
    private let path = Mutex<String?>(nil)
    /// Runs reloads, one at a time.
    private let reloading = DispatchQueue(label: "relay.reload")

    /// How long a reload waits for the end of a channel that it removes or replaces.
    private static let patience = Duration.seconds(15)

    let resources = HostResources()
    let exports = ExportJobs()
    private let exportPlanning = ExportPlanning()
    private let terminal: Terminal
    private let logger: Logger
    private let notifier: ServiceNotifier?
    private let queue = DispatchQueue(label: "relay.host")
    /// Signalled when a channel or a reload has ended, or when the process is asked to end.
    private let changed = DispatchSemaphore(value: 0)
    private let state = Mutex(State())
    private let service = Mutex<HostService?>(nil)
    private let descriptors: DescriptorWatch

    /// Creates a host without channels. It will show their status on `terminal`, and tell `notifier` when they are up.
    init(terminal: Terminal, notifier: ServiceNotifier? = nil) {
        self.terminal = terminal
        self.notifier = notifier
        logger = Logger(label: "relay")
        descriptors = DescriptorWatch(clock: resources.clock, logger: logger)
    }

    /// Runs the channels of `configuration`, and handles signals meanwhile: SIGHUP reloads the configuration file, if
    /// there is one. Returns the exit status when all channels have ended. If the process is asked to end, does not
    /// wait for channels that are still being opened.
    func run(_ configuration: HostConfiguration) -> ExitStatus {
        let path = configuration.path
        self.path.withLock { $0 = path }
        var signals = watchSignals(ending: path == nil ? ProcessSignals.endRequests : [SIGINT, SIGTERM])
        for channel in configuration.channels { start(channel, isFirst: true, isLasting: path != nil) }
        serve()
        descriptors.start(on: queue)
        defer { endService() }
        if let path {
            signals.watch(SIGHUP) {
                self.state.withLock { $0.reloads += 1 }
                self.reloading.async {
                    _ = try? self.applyFile(path)
                    self.reloaded()
                }
            }
        }
        defer { signals.cancel() }
        let timer = showStatus()
        defer { timer.cancel() }
        while !isOver { changed.wait() }
        signals.cancel()
        queue.sync {}
        let (runs, isEnding) = state.withLock { ($0.runs, $0.isEnding) }
        let results = runs.compactMap(\.result)
        if isEnding, path != nil { return results.contains(.done) ? .done : .nothingDelivered }
        guard !results.isEmpty else { return .nothingDelivered }
        return ExitStatus(results.first { $0 != .done } ?? .done)
    }

    private var openChannels: [Channel] { state.withLock { $0.runs }.compactMap(\.channel) }
    /// The API's view of the channels.
    private var controls: [ChannelControl] { state.withLock { $0.runs }.map(\.control) }
}

// MARK: Channels

extension Host {
    /// Whether the process can end. It cannot during a reload, because a channel may be between its end and its
    /// restart. If the process was asked to end, it waits neither for a reload nor for a channel that is still being
    /// opened.
    private var isOver: Bool {
        let (runs, isEnding, isReloading) = state.withLock { ($0.runs, $0.isEnding, $0.reloads > 0) }
        if isReloading, !isEnding { return false }
        return runs.allSatisfy { $0.result != nil || (isEnding && $0.isOpening) }
    }

    private func start(
        _ channel: ConfiguredChannel, isFirst: Bool = false, isLasting: Bool = true, control: ChannelControl? = nil
    ) {
        let run = ChannelRun(
            channel, isFirst: isFirst, isLasting: isLasting, control: control, resources: resources, logger: logger)
        run.control.archive.map(exports.restore)
        let isEnding = state.withLock { state in
            if !state.isEnding { state.runs.append(run) }
            return state.isEnding
        }
        if isEnding { return }
        run.start(report: { [self] in report($0, of: run.name) }, completion: { [self] in changed.signal() })
    }
}

// MARK: A configuration file

extension Host {
    private func reloaded() {
        state.withLock { $0.reloads -= 1 }
        changed.signal()
    }

    /// Reloads the file for the API. Waits for a reload that is already running. Returns how many channels have
    /// changed.
    private func reloadFile() throws(ReloadFailure) -> Int {
        guard let path = path.withLock({ $0 }) else { throw .none }
        state.withLock { $0.reloads += 1 }
        defer { reloaded() }
        let result = reloading.sync { Result { () throws(ReloadFailure) in try applyFile(path) } }
        return try result.get()
    }

    /// Reloads the file and applies its changes; an invalid file changes nothing. Returns how many channels have
    /// changed. Runs on the reload queue.
    private func applyFile(_ path: String) throws(ReloadFailure) -> Int {
        guard let service = service.withLock({ $0 }) else { return try readFile(path) }
        var result = Result<Int, ReloadFailure>.failure(.none)
        service.reloading { result = Result { () throws(ReloadFailure) in try readFile(path) } }
        return try result.get()
    }

    private func readFile(_ path: String) throws(ReloadFailure) -> Int {
        let file: HostConfiguration
        do throws(ConfigurationFailure) {
            file = try HostConfiguration(reading: path)
        } catch {
            for line in error.lines { logger.error("the configuration file is not applied: \(line)") }
            throw .refused(error.lines)
        }
        if state.withLock({ $0.isEnding }) { throw .ending }
        let limit = DescriptorLimit.raise()
        if let shortage = DescriptorLimit.shortage(descriptors: file.descriptors, limit: limit) {
            logger.error("the configuration file is not applied: \(shortage)")
            throw .refused([shortage])
        }
        DescriptorReserve.shared.keep(
            forOutputs: file.outputCount, needing: DescriptorLimit.needed(file.descriptors), of: limit)
        var changes = 0
        for run in state.withLock({ $0.runs }) where !file.channels.contains(where: { $0.name == run.name }) {
            logger.notice("the channel is ended by the configuration file", metadata: ["channel": "\(run.name)"])
            changes += 1
            stop(run)
        }
        for channel in file.channels where apply(channel) { changes += 1 }
        state.withLock { $0.runs = file.ordered($0.runs, by: \.name) }
        logger.notice("the configuration file was read again", metadata: ["changed_channels": "\(changes)"])
        return changes
    }

    /// Applies the new configuration of one channel; returns whether the channel was changed.
    private func apply(_ channel: ConfiguredChannel) -> Bool {
        guard let run = state.withLock({ $0.runs.first { $0.name == channel.name } }) else {
            start(channel)
            return true
        }
        // A channel that has ended is started again only if the file has changed it.
        if run.isAsAsked(channel) { return false }
        if run.result == nil, run.change(to: channel) { return true }
        logger.notice(
            "the channel starts again, as the configuration file says", metadata: ["channel": "\(channel.name)"])
        stop(run)
        start(channel, control: run.control(for: channel))
        return true
    }

    private func stop(_ run: ChannelRun) {
        run.end()
        run.waitForEnd(Self.patience)
        state.withLock { state in state.runs.removeAll { $0 === run } }
        changed.signal()
    }
}

// MARK: Signals

extension Host {
    /// Watches signals. SIGUSR1 begins a new file in each recording. SIGUSR2 retries the outputs that have given up or
    /// were refused. The signals in `ending` ask the process to end, cleanly or at once: see ``EndRequests``.
    private func watchSignals(ending: [CInt]) -> ProcessSignals {
        var signals = ProcessSignals(queue: queue)
        signals.watch(SIGUSR1) { for channel in self.openChannels { channel.cutRecording() } }
        signals.watch(SIGUSR2) { for channel in self.openChannels { channel.retryOutputs(because: "SIGUSR2") } }
        for number in ending { signals.watch(number) { self.endRequested(by: number) } }
        return signals
    }

    private func endRequested(by number: CInt) {
        switch state.withLock({ $0.endRequests.received(at: resources.clock.now) }) {
        case .end:
            service.withLock { $0 }?.stopping()
            logger.info("ending; once more to end at once")
            let runs = state.withLock { state in
                state.isEnding = true
                return state.runs
            }
            // Cancelling the opening of an input may take time. The process does not wait for it, and responds to
            // further signals meanwhile.
            changed.signal()
            DispatchQueue.global().async { for run in runs { run.end() } }
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

// MARK: The service manager

extension Host {
    /// Begins to report the channels to the service manager.
    private func serve() {
        let service = HostService(
            notifier: notifier, directory: getenv("RUNTIME_DIRECTORY").map { String(cString: $0) },
            queues: [OutputSupervisor.shared] + resources.writers.queues, clock: resources.clock, logger: logger
        ) { [weak self] in self?.served ?? [] }
        self.service.withLock { $0 = service }
        service.start(on: queue)
    }

    private func endService() { service.withLock { $0 }?.end() }

    private var served: [ServedChannel] { state.withLock { $0.runs }.map(\.served) }
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
        let blocks = openChannels.map { (name: $0.name, block: block($0)) }
        guard !blocks.isEmpty else { return }
        terminal.show(blocks.flatMap { block in (blocks.count > 1 ? ["\(block.name):"] : []) + block.block.lines })
        let ticks = state.withLock { state in
            defer { state.ticks += 1 }
            return state.ticks
        }
        // If no status is drawn on a terminal, the status goes to the log, once a minute. People read a log later, so
        // this is enough.
        guard !terminal.showsStatus, ticks > 0, ticks % 60 == 0 else { return }
        for (name, block) in blocks { log("status: \(block.line)", of: name, as: ControlEvent.statusLine) }
    }

    private func block(_ channel: Channel) -> StatusBlock {
        let (status, now) = (channel.status, DispatchTime.now())
        let last = state.withLock { $0.last.updateValue((status, now), forKey: channel.name) }
        let interval = last.map { Double(now.uptimeNanoseconds - $0.at.uptimeNanoseconds) / 1e9 } ?? 0
        return StatusBlock(now: status, before: last?.status, interval: interval)
    }

    private func report(_ status: ChannelStatus, of name: String) {
        terminal.show([])
        log("done: \(StatusBlock(now: status, before: nil, interval: 0).summary)", of: name)
    }

    /// Logs a line about the channel `name`.
    private func log(_ text: String, of name: String, as event: String? = nil) {
        var metadata: Logger.Metadata = ["channel": "\(name)"]
        metadata[LogKey.event] = event.map { "\($0)" }
        logger.info("\(text)", metadata: metadata)
    }
}

// MARK: Control

extension Host: ControlledHost {
    var channels: [String] { controls.map(\.name) }

    func channel(_ name: String) -> (any ControlledChannel)? { controls.first { $0.name == name } }

    func startExport(_ request: ExportRequest) throws(Refusal) -> ExportJob {
        guard let control = controls.first(where: { $0.name == request.channel }) else {
            throw Refusal(.notFound, "There is no channel of this name.")
        }
        guard let recordings = control.archive else {
            throw Refusal(.conflict, "The channel has no directory of recordings.")
        }
        guard let archive = request.source.map(control.archive(ofSource:)) ?? recordings else {
            throw Refusal(.notFound, "No source of this name is recorded.")
        }
        // An export leaves free the space that the storage guard keeps free for recording.
        let reserve = control.report.status?.storage?.reserveBytes ?? control.configuredReserve
        return try exports.start(request, in: archive, reserve: reserve)
    }

    func planExport(_ request: ExportRequest) throws(Refusal) -> ExportPlan {
        guard let control = controls.first(where: { $0.name == request.channel }) else {
            throw Refusal(.notFound, "There is no channel of this name.")
        }
        guard let archive = control.archive else {
            throw Refusal(.conflict, "The channel has no directory of recordings.")
        }
        return try exportPlanning.plan(request, in: archive)
    }

    var wrongStreamKeys: [String: UInt64] { ["rtmp": resources.server.wrongKeys, "srt": SRTServer.shared.wrongKeys] }

    func check(_ address: String) -> AddressCheck { OutputCheck(resources).check(address) }

    func reload() throws(Refusal) -> Int {
        do throws(ReloadFailure) {
            return try reloadFile()
        } catch {
            switch error {
            case .none: throw Refusal(.conflict, "relay was started with flags, and has no file to read again.")
            case .ending: throw Refusal(.unavailable, "relay is about to end.")
            case .refused(let lines):
                throw Refusal(.unusable, "The configuration file is not applied: \(lines.first ?? "")", errors: lines)
            }
        }
    }
}

/// Why a configuration file was not applied.
private enum ReloadFailure: Error {
    /// The process was started without a configuration file.
    case none
    /// The process is ending.
    case ending
    /// Why the file is not applied: its errors, or a lack of file descriptors, one per line.
    case refused([String])
}
