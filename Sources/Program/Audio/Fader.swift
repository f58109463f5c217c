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
        /// How much later it is heard than it comes, in seconds; 0 to ``Fader/longestDelay``.
        package var delay = 0.0

        /// As it came.
        package init() {}

        /// What samples are multiplied with.
        var factor: Float {
            if isMuted { return 0 }
            return gain == 0 ? 1 : Float(pow(10, gain / 20))
        }
    }

    /// How much later a source may be heard than it comes, in seconds.
    package static let longestDelay = 2.0

    private let state = Mutex(Settings())

    /// As it came.
    package init() {}

    /// The settings.
    package var settings: Settings { state.withLock { $0 } }

    /// Changes them. It is heard from the program's next frame on, without a click.
    package func change(_ body: (inout Settings) -> Void) { state.withLock { body(&$0) } }
}
