// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A cache of a limited number of values. The least recently used value is removed first. Any thread may call it.
final class RecentValues<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct State {
        var values: [Key: (value: Value, used: UInt64)] = [:]
        var clock: UInt64 = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    /// Creates a cache of at most `limit` values.
    init(limit: Int) { self.limit = limit }

    subscript(key: Key) -> Value? {
        get {
            state.withLock { state in
                state.clock += 1
                state.values[key]?.used = state.clock
                return state.values[key]?.value
            }
        }
        set {
            state.withLock { state in
                state.clock += 1
                state.values[key] = newValue.map { ($0, state.clock) }
                guard state.values.count > limit,
                    let oldest = state.values.min(by: { $0.value.used < $1.value.used })
                else { return }
                state.values[oldest.key] = nil
            }
        }
    }
}
