// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import Media
internal import Networking

/// Calls closures for signals on one queue, until ``cancel()``.
struct ProcessSignals {
    private let queue: DispatchQueue
    private var sources: [any DispatchSourceSignal] = []

    /// Answers no signal yet. From now on a write to a closed peer is an error and does not end the process.
    init(queue: DispatchQueue) {
        self.queue = queue
        signal(SIGPIPE, SIG_IGN)
        // Swift's runtime handles SIGQUIT as a crash, reports it and continues.
        if !Self.isIgnored(SIGQUIT) { signal(SIGQUIT, SIG_DFL) }
    }

    /// The signals that ask for the end. SIGHUP is not one of them if the process was started with it ignored, as by
    /// `nohup`: such a process outlives its terminal.
    static var endRequests: [CInt] { [SIGINT, SIGTERM] + (isIgnored(SIGHUP) ? [] : [SIGHUP]) }

    /// Calls `body` on the queue each time that signal `number` comes.
    mutating func watch(_ number: CInt, _ body: @escaping @Sendable () -> Void) {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        source.setEventHandler(handler: body)
        source.activate()
        sources.append(source)
    }

    /// Stops answering signals; the watched ones are ignored from now on.
    func cancel() {
        for source in sources { source.cancel() }
    }

    private static func isIgnored(_ number: CInt) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        // Compared as numbers, because SIG_IGN is the address 1, which is no function.
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}

/// Interprets the signals that ask for the end.
///
/// The first one requests a clean end. A later one means that this takes too long, but only 500 ms or more after the
/// first: `timeout` and a closing terminal send two within microseconds, to the process and to its group.
struct EndRequests {
    /// What to do about a signal.
    enum Answer: Equatable {
        case end
        case ignore
        case endAtOnce
    }

    private static let patience = Duration.milliseconds(500)
    private var first: Int64?

    /// Takes a signal at `now`, in monotonic nanoseconds.
    mutating func received(at now: Int64) -> Answer {
        guard let first else {
            self.first = now
            return .end
        }
        return now - first < Self.patience.inNanoseconds ? .ignore : .endAtOnce
    }
}
