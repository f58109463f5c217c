// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc

/// The signals that a process answers, each by a closure on one queue, until ``cancel()``.
struct ProcessSignals {
    private let queue: DispatchQueue
    private var sources: [any DispatchSourceSignal] = []

    /// Answers nothing yet. From now on a peer that is gone is an error of the write to it and not the process's end.
    init(queue: DispatchQueue) {
        self.queue = queue
        signal(SIGPIPE, SIG_IGN)
        // Swift's runtime takes SIGQUIT for a crash, says so and continues.
        if !Self.isIgnored(SIGQUIT) { signal(SIGQUIT, SIG_DFL) }
    }

    /// The signals that ask for the end. SIGHUP is not one of them if the process was started with it ignored, as by
    /// `nohup`: such a process outlives its terminal.
    static var endRequests: [CInt] {
        [SIGINT, SIGTERM] + (isIgnored(SIGHUP) ? [] : [SIGHUP])
    }

    /// Calls `body` on the queue each time that signal `number` comes.
    mutating func watch(_ number: CInt, _ body: @escaping @Sendable () -> Void) {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        source.setEventHandler(handler: body)
        source.activate()
        sources.append(source)
    }

    /// Answers no signal any more; what was watched is ignored from now on.
    func cancel() {
        for source in sources { source.cancel() }
    }

    private static func isIgnored(_ number: CInt) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        // Compared as numbers: SIG_IGN is the address 1, where no function is.
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
