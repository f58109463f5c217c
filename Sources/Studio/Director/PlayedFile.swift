// SPDX-License-Identifier: Apache-2.0

package import Media

/// A file that is one of several sources, and can be played from another place.
package protocol PlayedFile: Sendable {
    /// What it does while it is neither seen nor heard.
    var whenOff: WhenOff { get }
    /// Goes on from `moment` of it. Returns at once. Throws where it is over before.
    func play(from moment: Duration) throws(Refusal)
}

/// What a file does while it is neither seen nor heard.
package enum WhenOff: String, Sendable, CaseIterable {
    /// It plays on.
    case keep
    /// It stands.
    case pause
    /// It is closed, and begins anew.
    case close
}
