// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import Media
internal import Networking
internal import Synchronization

/// Intercepts the first signal that asks the process to end, so that a command can check for it and end cleanly. A
/// later signal ends the process at once, even if a disk does not respond; ``EndRequests`` has the rules.
final class HeldSignals: Sendable {
    private struct State {
        var requests = EndRequests()
        var first: CInt?
    }

    private let state = Mutex(State())
    private let signals = Mutex<ProcessSignals?>(nil)

    init() {
        signals.withLock { held in
            var signals = ProcessSignals(queue: DispatchQueue(label: "relay.signals"))
            for number in ProcessSignals.endRequests {
                signals.watch(number) { [weak self] in self?.received(number) }
            }
            held = signals
        }
    }

    /// The first signal that asked the process to end; nil if none has come yet.
    var first: CInt? { state.withLock { $0.first } }

    private func received(_ number: CInt) {
        let answer = state.withLock { state in
            state.first = state.first ?? number
            return state.requests.received(at: SystemClock().now)
        }
        if answer == .endAtOnce { _exit(128 + number) }
    }
}
