// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A value that is made at most once in a while, however many ask. Any thread; who asks while it is made waits for it.
final class Cached<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var made = ContinuousClock.now
    }

    private let lifetime: Duration
    private let make: @Sendable () -> Value
    private let state = Mutex(State())

    /// A value of `make`, which is good for `lifetime`.
    init(for lifetime: Duration, _ make: @escaping @Sendable () -> Value) {
        (self.lifetime, self.make) = (lifetime, make)
    }

    /// The value, or a new one if it is too old.
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
