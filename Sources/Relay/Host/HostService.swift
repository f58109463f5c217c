// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import Glibc
internal import Logging
internal import Media
internal import Program
internal import Segmenter
internal import Status
internal import Synchronization

/// The service manager's view of a channel.
struct ServedChannel {
    var name: String
    /// The channel's status while it is open; nil while it is being opened, waits to be reopened, or has ended.
    var status: ChannelStatus?
    /// Whether the channel could not be opened, or went off air again, at least once.
    var wasTried: Bool
    /// Whether the channel has ended.
    var isOver: Bool
    /// The heartbeats of the channel's threads.
    var heartbeats: [Heartbeat] = []

    /// Whether the program has delivered a frame or a packet.
    var isOnAir: Bool { (status?.program.frames ?? 0) > 0 || (status?.passthrough?.packets ?? 0) > 0 }
}

/// Reports to the service manager when the service is up, what its status is, and that it is healthy. While it is
/// healthy, it also updates the file `heartbeat` in the service's runtime directory regularly, for health checks.
///
/// Any thread may use it.
final class HostService: Sendable {
    private struct State {
        var watchdog: Watchdog
        var isReady = false
        var isStopping = false
        var line = ""
        var isOver = false
    }

    /// The longest time until the service is reported as up, even if a channel is not on air. Such a channel waits for
    /// a source, a server or a disk, which is no reason to report the service as down.
    static let patience = Duration.seconds(5)
    /// The interval of checks until the service is up.
    private static let impatience = Duration.milliseconds(100)
    /// The watchdog's interval if no service manager supervises the process, and only the file `heartbeat` is updated.
    private static let usualInterval = Duration.seconds(10)

    private let notifier: ServiceNotifier?
    /// The path of the file `heartbeat`, which is updated while the process is healthy; nil if there is no directory
    /// for it.
    private let file: String?
    private let clock: any MonotonicClock
    private let logger: Logger
    private let began: MonotonicInstant
    private let probes: [QueueProbe]
    private let channels: @Sendable () -> [ServedChannel]
    private let state: Mutex<State>

    /// Creates a service that reports `channels` to `notifier`, and watches `queues`, on which nothing may block.
    /// `directory` is the runtime directory, `$RUNTIME_DIRECTORY`.
    init(
        notifier: ServiceNotifier?, directory: String?, queues: [DispatchQueue], clock: any MonotonicClock,
        logger: Logger, channels: @escaping @Sendable () -> [ServedChannel]
    ) {
        self.notifier = notifier
        // `directory` may name several directories, separated by colons (systemd.exec(5)). The first of them is used.
        file = directory?.split(separator: ":").first.map { "\($0)/heartbeat" }
        self.clock = clock
        self.logger = logger
        began = clock.now
        probes = queues.map { QueueProbe($0, clock: clock) }
        self.channels = channels
        state = Mutex(State(watchdog: Watchdog(interval: notifier?.watchdog.map { $0 / 2 } ?? Self.usualInterval)))
    }

    /// Starts the reports on `queue`. Nothing may block on `queue`, as on the watched queues. Does nothing if there is
    /// neither a service manager nor a file `heartbeat`.
    func start(on queue: DispatchQueue) {
        guard notifier != nil || file != nil else { return }
        queue.async { [weak self] in self?.turn(on: queue) }
    }

    /// Checks the channels, and schedules the next check.
    private func turn(on queue: DispatchQueue) {
        if state.withLock({ $0.isOver }) { return }
        look()
        let period = state.withLock { $0.isReady ? $0.watchdog.period : Self.impatience }
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(period.inNanoseconds))) { [weak self] in
            self?.turn(on: queue)
        }
    }

    /// Calls `work`, and reports a reload to the service manager while it runs.
    func reloading(_ work: () -> Void) {
        // A reload is reported only if the service is up, because systemd accepts it only then.
        let isReady = state.withLock { $0.isReady && !$0.isStopping }
        if isReady { notifier?.send(.reloading(clock.now)) }
        work()
        if isReady, !state.withLock({ $0.isStopping }) { notifier?.send(.ready) }
    }

    /// Reports to the service manager that the process is ending.
    func stopping() {
        let isFirst = state.withLock { state in
            defer { state.isStopping = true }
            return !state.isStopping
        }
        if isFirst { notifier?.send(.stopping) }
    }

    /// Stops reporting, because the process is about to end.
    func end() {
        stopping()
        state.withLock { $0.isOver = true }
        if let file { unlink(file) }
    }

    /// Checks all channels, reports changes to the service manager, and feeds the watchdog.
    func look() {
        let channels = channels()
        let (isReady, isStopping) = state.withLock { ($0.isReady, $0.isStopping) }
        if !isReady, !isStopping { tellReady(channels) }
        let line = Self.line(of: channels)
        if !isStopping, state.withLock({ $0.line != line }), notifier?.send(.status(line)) ?? true {
            state.withLock { $0.line = line }
        }
        lookForSilence(channels)
    }

    private func tellReady(_ channels: [ServedChannel]) {
        let isLate = clock.now - began >= Self.patience
        let isUp =
            !channels.isEmpty && channels.allSatisfy { $0.isOnAir || $0.isOver || ($0.wasTried && $0.status == nil) }
        let line = Self.line(of: channels)
        guard isUp || isLate, notifier?.send(.ready, .status(line)) ?? true else { return }
        state.withLock { ($0.isReady, $0.line) = (true, line) }
    }

    private func lookForSilence(_ channels: [ServedChannel]) {
        var silences = channels.flatMap { channel in
            channel.heartbeats.compactMap { heartbeat in
                heartbeat.silence.map {
                    Watchdog.Silence(channel: channel.name, thread: heartbeat.name, length: $0)
                }
            }
        }
        silences += probes.compactMap { probe in
            probe.heartbeat.silence.map { Watchdog.Silence(thread: probe.heartbeat.name, length: $0) }
        }
        let answer = state.withLock { $0.watchdog.look(at: clock.now, silences: silences) }
        if let silent = answer.silent {
            var metadata: Logger.Metadata = ["thread": "\(silent.thread)"]
            if let channel = silent.channel { metadata["channel"] = "\(channel)" }
            logger.error("a media thread makes no progress: the watchdog is not fed any more", metadata: metadata)
        }
        if answer.isOver { logger.notice("every media thread makes progress again: the watchdog is fed") }
        guard answer.feeds else { return }
        for probe in probes { probe.ask() }
        if notifier?.watchdog != nil { notifier?.send(.watchdog) }
        touch()
    }

    /// Updates the modification time of the file `heartbeat`. Runtime directories are in memory, so this does not wait
    /// for a disk.
    private func touch() {
        guard let file else { return }
        let descriptor = open(file, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard descriptor >= 0 else { return }
        futimens(descriptor, nil)
        close(descriptor)
    }

    /// Returns the line that `systemctl status` shows.
    static func line(of channels: [ServedChannel]) -> String {
        let onAir = channels.filter { $0.isOnAir && !$0.isOver }
        let outputs = channels.compactMap(\.status).flatMap(\.outputs)
        let recording = channels.filter { channel in
            [channel.status?.recorder?.state, channel.status?.secondRecording?.recorder?.state].contains(.recording)
        }
        var parts = ["\(onAir.count) of \(channels.count) channels on air"]
        if !outputs.isEmpty { parts.append("\(outputs.count { $0.state == .live }) of \(outputs.count) outputs live") }
        let waiting = outputs.count { $0.state == .waiting }
        if waiting > 0 { parts.append("\(waiting) waiting for a caller") }
        if !recording.isEmpty { parts.append("\(recording.count) recording") }
        return parts.joined(separator: ", ")
    }
}

/// Detects whether a queue on which nothing may block still makes progress.
final class QueueProbe: Sendable {
    /// The heartbeat of the queue. It beats when a probe is posted, and rests when the queue has executed the probe. So
    /// while a probe waits, the time without a beat grows.
    let heartbeat: Heartbeat
    private let queue: DispatchQueue
    private let isAsked = Atomic(false)

    /// Creates a probe of `queue` that uses `clock`.
    init(_ queue: DispatchQueue, clock: any MonotonicClock) {
        self.queue = queue
        heartbeat = Heartbeat(queue.label, clock: clock)
    }

    /// Posts a probe to the queue, unless the previous one has not been executed yet. Returns at once. Only one thread
    /// may call it at a time.
    func ask() {
        guard !isAsked.exchange(true, ordering: .acquiringAndReleasing) else { return }
        heartbeat.beat()
        queue.async { [self] in
            heartbeat.rest()
            isAsked.store(false, ordering: .releasing)
        }
    }
}
