// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization

/// The settings of a source's audio that an operator can change on air: gain, mute and shift. Any thread may use a
/// fader.
package final class Fader: Sendable {
    /// The settings of one source's audio.
    package struct Settings: Sendable, Equatable {
        /// The gain, in dB.
        package var gain = 0.0
        /// Whether the source is muted.
        package var isMuted = false
        /// By how many seconds the audio is played later than it arrives, from ``Fader/earliest`` to ``Fader/latest``.
        /// If negative, the audio is played earlier, but only by as much as the source can deliver it in advance.
        package var offset = 0.0

        /// Creates settings that leave the audio unchanged.
        package init() {}

        /// The factor by which the samples are multiplied.
        var factor: Float {
            if isMuted { return 0 }
            return gain == 0 ? 1 : Float(pow(10, gain / 20))
        }
    }

    /// The limits of ``Settings/offset`` in seconds. ``latest`` is the maximum delay. ``earliest`` is negative: audio
    /// can be played at most half a second early.
    package static let latest = 2.0
    package static let earliest = -0.5

    /// The permitted range of gains, in dB.
    package static let gains = -60.0...20.0

    private let state = Mutex((now: Settings(), start: Settings()))

    /// Creates a fader that leaves the audio unchanged.
    package init() {}

    /// The settings that are used now.
    package var settings: Settings { state.withLock { $0.now } }

    /// The configured settings of a fader and its present settings. From both, an operator's changes are restored when
    /// the channel is reopened.
    package struct Memory: Sendable {
        fileprivate let now: Settings
        fileprivate let start: Settings
    }

    /// The configured settings and the present settings; nil if they are equal.
    package var memory: Memory? { state.withLock { $0.now == $0.start ? nil : Memory(now: $0.now, start: $0.start) } }

    /// Applies the operator's changes in `memory` again. A setting whose configured value has changed since then keeps
    /// the new value.
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

    /// Changes the settings. The change becomes audible with the program's next frame, without a click.
    package func change(_ body: (inout Settings) -> Void) { state.withLock { body(&$0.now) } }

    /// Sets the configured settings, before the program starts.
    package func begin(with settings: Settings) { state.withLock { $0 = (settings, settings) } }
}
