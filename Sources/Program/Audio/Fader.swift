// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization

/// The settings of a source's audio that an operator can change on air. Any thread may use it.
package final class Fader: Sendable {
    /// The settings.
    package struct Settings: Sendable, Equatable {
        /// The gain, in decibels.
        package var gain = 0.0
        /// Whether the source is muted.
        package var isMuted = false
        /// How much later than it arrives the audio is played, in seconds, from ``Fader/earliest`` to ``Fader/latest``.
        /// If it is negative, the audio is played earlier, as far as it is available by then.
        package var offset = 0.0

        /// Settings that leave the audio unchanged.
        package init() {}

        /// The factor for the samples.
        var factor: Float {
            if isMuted { return 0 }
            return gain == 0 ? 1 : Float(pow(10, gain / 20))
        }
    }

    /// The limits of a source's offset, in seconds: ``latest`` is the maximum delay, and ``earliest`` the maximum
    /// advance, which is negative.
    package static let latest = 2.0
    package static let earliest = -0.5

    /// The permitted range of gains, in decibels.
    package static let gains = -60.0...20.0

    private let state = Mutex((now: Settings(), start: Settings()))

    /// A fader that leaves the audio unchanged.
    package init() {}

    /// The current settings.
    package var settings: Settings { state.withLock { $0.now } }

    /// The initial settings and the present ones.
    package struct Memory: Sendable {
        fileprivate let now: Settings
        fileprivate let start: Settings
    }

    /// The initial and the present settings, if an operator has changed them; otherwise nil.
    package var memory: Memory? { state.withLock { $0.now == $0.start ? nil : Memory(now: $0.now, start: $0.start) } }

    /// Repeats the changes in `memory`, except for settings that now have another initial value.
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

    /// Changes the settings. The change is audible from the program's next frame on, without a click.
    package func change(_ body: (inout Settings) -> Void) { state.withLock { body(&$0.now) } }

    /// Sets the initial settings, before the program begins.
    package func begin(with settings: Settings) { state.withLock { $0 = (settings, settings) } }
}
