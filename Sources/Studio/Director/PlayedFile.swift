// SPDX-License-Identifier: Apache-2.0

package import Media

/// A file that is one of several sources, and can be played from another position.
package protocol PlayedFile: Sendable {
    /// The file's behavior while it is neither visible nor audible.
    var whenOff: WhenOff { get }
    /// Continues from `moment` of the file. Returns at once. Throws if the file is known to end before `moment`.
    func play(from moment: Duration) throws(Refusal)
}

/// The behavior of a file while it is neither visible nor audible.
package enum WhenOff: String, Sendable, CaseIterable {
    /// The file continues to play.
    case keep
    /// The file is paused.
    case pause
    /// The file is closed while it is not in the preview, and not about to be visible or audible, either. After that,
    /// it begins again from its start.
    case close
}
