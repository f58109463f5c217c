// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import Media
internal import Networking

/// Calls a closure for each signal that is watched, on one queue, until ``cancel()``.
struct ProcessSignals {
    private let queue: DispatchQueue
    private var sources: [any DispatchSourceSignal] = []

    /// Creates an object that watches no signal yet. From now on two kinds of writes fail with an error instead of
    /// ending the process: to a peer that has closed the connection, and to a file that has reached its maximum size.
    init(queue: DispatchQueue) {
        self.queue = queue
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        // Restores the default action of SIGQUIT, because Swift's runtime would report it as a crash and continue.
        if !Self.isIgnored(SIGQUIT) { signal(SIGQUIT, SIG_DFL) }
    }

    /// The signals that ask the process to end. SIGHUP is not among them if the process was started with SIGHUP
    /// ignored, as by `nohup`: such a process continues when its terminal is closed.
    static var endRequests: [CInt] { [SIGINT, SIGTERM] + (isIgnored(SIGHUP) ? [] : [SIGHUP]) }

    /// Calls `body` on the queue each time the process receives signal `number`.
    mutating func watch(_ number: CInt, _ body: @escaping @Sendable () -> Void) {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        source.setEventHandler(handler: body)
        source.activate()
        sources.append(source)
    }

    /// Stops watching signals; the watched signals are ignored from now on.
    func cancel() {
        for source in sources { source.cancel() }
    }

    private static func isIgnored(_ number: CInt) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        // The handlers are compared as numbers, because SIG_IGN is the number 1, and not the address of a function.
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}

/// Decides how to respond to the signals that ask the process to end.
///
/// The first signal asks for a clean end. A later signal means that the clean end takes too long. It counts only 500 ms
/// or more after the first, because `timeout` and a closing terminal send two signals within microseconds, one to the
/// process and one to its group.
struct EndRequests {
    /// How to respond to a signal.
    enum Answer: Equatable {
        case end
        case ignore
        case endAtOnce
    }

    private static let patience = Duration.milliseconds(500)
    private var first: MonotonicInstant?

    /// Records a signal at `now`, and returns the response.
    mutating func received(at now: MonotonicInstant) -> Answer {
        guard let first else {
            self.first = now
            return .end
        }
        return now - first < Self.patience ? .ignore : .endAtOnce
    }
}
