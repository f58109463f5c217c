// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Dispatch
internal import Glibc
internal import Logging
internal import Media
internal import Networking
internal import Status
internal import Synchronization

/// Sends the events of the event log to one receiver, in order and one at a time.
///
/// It checks the log ten times per second in its own task, so that no thread that creates an event ever waits for it.
/// Any thread may use it.
final class Webhook: Sendable {
    private struct State {
        var queue = WebhookQueue()
        var lastError: String?
        var isEnding = false
        var task: Task<Void, Never>?
    }

    private static let step = Duration.milliseconds(100)
    /// How long a delivery may take, from resolving the name to the end of the response.
    private static let limit = Duration.seconds(10)

    private let settings: WebhookSettings
    private let name: String
    private let events: EventLog
    private let host: String
    private let startedAt: UTCTime
    private let logger: Logger
    private let client: HTTPClient
    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)

    /// Creates a webhook called `name`, which is not started.
    init(
        _ settings: WebhookSettings, name: String, events: EventLog, host: String, startedAt: UTCTime, logger: Logger
    ) {
        (self.settings, self.events, self.host, self.startedAt) = (settings, events, host, startedAt)
        self.name = name
        var logger = logger
        logger[metadataKey: "webhook"] = "\(name)"
        self.logger = logger
        client = HTTPClient(settings.endpoint, trust: settings.trust)
    }

    /// The webhook's status.
    var status: WebhookStatus {
        state.withLock { state in
            WebhookStatus(
                name: name, delivered: state.queue.delivered, failed: state.queue.failed,
                leftOut: state.queue.leftOutInAll, waiting: state.queue.count, lastError: state.lastError)
        }
    }

    /// Starts the webhook. It delivers the events that are already in the log first.
    func start() {
        // The task is ended by ``finish(at:)``.
        let task = Task { [self] in
            await run()
            ended.signal()
        }
        state.withLock { $0.task = task }
    }

    /// Tries to deliver the waiting events once more, then ends. ``finish(at:)`` limits how long that takes.
    func stop() { state.withLock { $0.isEnding = true } }

    /// Waits until the webhook has ended, at most until `deadline`, and then cancels a running delivery. Blocks.
    func finish(at deadline: DispatchTime) {
        _ = ended.wait(timeout: deadline)
        state.withLock { $0.task }?.cancel()
    }

    private func run() async {
        var last: UInt64 = 0
        var due = ContinuousClock.now
        while !Task.isCancelled {
            let isEnding = state.withLock { $0.isEnding }
            let (new, missed) = events.batch(after: last)
            if let newest = new.last {
                last = newest.id
                state.withLock { $0.queue.append(new.lazy.filter(settings.takes), missed: missed) }
            }
            while isEnding || ContinuousClock.now >= due, let wait = await deliver() {
                due = .now + wait
                if wait > .zero { break }
            }
            if isEnding { return }
            try? await Task.sleep(for: Self.step)
        }
    }

    /// Tries to deliver the first waiting event. Returns how long to wait before the next attempt; nil if no event
    /// waits, or if the webhook's task was cancelled.
    private func deliver() async -> Duration? {
        let (next, leftOut) = state.withLock { ($0.queue.next, $0.queue.leftOut) }
        guard let event = next, !Task.isCancelled else { return nil }
        let message = WebhookMessage(event: event, host: host, startedAt: startedAt, leftOut: leftOut)
        let (outcome, reason) = await send(message)
        let (wait, before, failures) = state.withLock { state in
            let before = state.queue.failures
            let wait = state.queue.tried(event, outcome, told: leftOut)
            state.lastError = reason
            return (wait, before, state.queue.failures)
        }
        if outcome == .delivered, before > 0 {
            logger.notice("the webhook takes events again", metadata: ["failures": "\(before)"])
        } else if failures == 1 {
            logger.warning("a webhook failed and is tried again", metadata: ["reason": "\(reason ?? "")"])
        }
        // The waiting time is varied at random, so that several hosts whose deliveries failed at once do not retry at
        // once.
        return wait * Double.random(in: 0.8...1.2)
    }

    private func send(_ message: WebhookMessage) async -> (WebhookQueue.Outcome, reason: String?) {
        do throws(OutputFailure) {
            let answer = try await client.answer(
                to: message.request(at: .now, secret: settings.secret), within: Self.limit, readsBody: false)
            if answer.head.isSuccess { return (.delivered, nil) }
            let isRefusal = [400, 405, 406, 409, 410, 411, 413, 414, 415, 422].contains(answer.head.status)
            return (isRefusal ? .refused : .failed, "the receiver answers with \(answer.head.status)")
        } catch {
            return (.failed, "\(error)")
        }
    }
}

/// All webhooks of the process. Any thread may use it.
final class Webhooks: Sendable {
    private let hooks: [Webhook]

    /// Creates webhooks with `settings`, which are not started, for the present and future entries of `events`.
    init(_ settings: [WebhookSettings], events: EventLog, logger: Logger) {
        let (host, startedAt) = (Self.hostName, UTCTime.now)
        var names: [String] = []
        hooks = settings.map { settings in
            // Several webhooks may use the same host, so the second and later ones get a number in their names.
            let count = names.count { $0 == settings.endpoint.name }
            names.append(settings.endpoint.name)
            return Webhook(
                settings, name: settings.endpoint.name + (count > 0 ? " \(count + 1)" : ""), events: events, host: host,
                startedAt: startedAt, logger: logger)
        }
    }

    /// The status of each webhook, in the order of the settings.
    var statuses: [WebhookStatus] { hooks.map(\.status) }

    /// Starts all webhooks.
    func start() { for hook in hooks { hook.start() } }

    /// Tries to deliver the waiting events once more, then ends all webhooks. Blocks for at most a second.
    func stop() {
        for hook in hooks { hook.stop() }
        let deadline = DispatchTime.now() + 1
        for hook in hooks { hook.finish(at: deadline) }
    }

    private static var hostName: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { name in
            guard let start = name.baseAddress, gethostname(start, name.count - 1) == 0 else { return "" }
            name[name.count - 1] = 0
            return String(cString: start)
        }
    }
}
