// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Computes a value at most once per `lifetime`, however many callers ask for it. Any thread may use it; a caller that
/// asks while the value is computed waits for it.
final class Cached<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var made = ContinuousClock.now
    }

    private let lifetime: Duration
    private let make: @Sendable () -> Value
    private let state = Mutex(State())

    /// A cache for the value of `make`, which is valid for `lifetime`.
    init(for lifetime: Duration, _ make: @escaping @Sendable () -> Value) {
        (self.lifetime, self.make) = (lifetime, make)
    }

    /// The value, computed again if it is too old.
    var value: Value {
        state.withLock { state in
            let now = ContinuousClock.now
            if let value = state.value, now - state.made < lifetime { return value }
            let value = make()
            (state.value, state.made) = (value, now)
            return value
        }
    }
}
