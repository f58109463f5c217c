// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization

/// What an operator sets of a source's audio while it is on air. Any thread.
package final class Fader: Sendable {
    /// The settings.
    package struct Settings: Sendable, Equatable {
        /// In decibels.
        package var gain = 0.0
        /// Whether nothing of it is heard.
        package var isMuted = false
        /// How much later it is heard than it comes, in seconds, from ``Fader/earliest`` to ``Fader/latest``; earlier if
        /// negative, as far as it is there by then.
        package var offset = 0.0

        /// As it came.
        package init() {}

        /// What samples are multiplied with.
        var factor: Float {
            if isMuted { return 0 }
            return gain == 0 ? 1 : Float(pow(10, gain / 20))
        }
    }

    /// How much later, and how much earlier, a source may be heard than it comes, in seconds.
    package static let latest = 2.0
    package static let earliest = -0.5

    /// What a gain may be, in decibels.
    package static let gains = -60.0...20.0

    private let state = Mutex((now: Settings(), start: Settings()))

    /// As it came.
    package init() {}

    /// The settings.
    package var settings: Settings { state.withLock { $0.now } }

    /// What it began with, and what was made of that.
    package struct Memory: Sendable {
        fileprivate let now: Settings
        fileprivate let start: Settings
    }

    /// What was changed since the beginning; nil for nothing.
    package var memory: Memory? { state.withLock { $0.now == $0.start ? nil : Memory(now: $0.now, start: $0.start) } }

    /// Changes again what was changed in `memory`, but for what begins otherwise than it did then.
    package func restore(_ memory: Memory) {
        func restore<Value: Equatable>(
            _ setting: WritableKeyPath<Settings, Value>, _ now: inout Settings, _ start: Settings
        ) {
            let (kept, before) = (memory.now[keyPath: setting], memory.start[keyPath: setting])
            if kept != before, start[keyPath: setting] == before { now[keyPath: setting] = kept }
        }
        state.withLock { state in
            restore(\.gain, &state.now, state.start)
            restore(\.isMuted, &state.now, state.start)
            restore(\.offset, &state.now, state.start)
        }
    }

    /// Changes them. It is heard from the program's next frame on, without a click.
    package func change(_ body: (inout Settings) -> Void) { state.withLock { body(&$0.now) } }

    /// Begins with `settings`, before the program does.
    package func begin(with settings: Settings) { state.withLock { $0 = (settings, settings) } }
}
