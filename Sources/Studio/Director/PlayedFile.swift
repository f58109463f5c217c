// SPDX-License-Identifier: Apache-2.0

package import Media

/// A file that is one of several sources, and can be played from another place.
package protocol PlayedFile: Sendable {
    /// What it does while it is neither seen nor heard.
    var whenOff: WhenOff { get }
    /// Continues from `moment` of the file. Returns at once. Throws if the file is over before.
    func play(from moment: Duration) throws(Refusal)
}

/// What a file does while it is neither seen nor heard.
package enum WhenOff: String, Sendable, CaseIterable {
    /// It continues to play.
    case keep
    /// It is paused.
    case pause
    /// It is closed, and begins again from its start.
    case close
}
