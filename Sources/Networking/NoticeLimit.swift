// SPDX-License-Identifier: Apache-2.0

/// Keeps a talkative peer from filling the log: decides which of its messages an operator sees.
package struct NoticeLimit: Sendable {
    /// What becomes of a message.
    package enum Verdict: Sendable { case passed, last, leftOut }

    /// Messages in a minute that pass.
    package static let messages = 20
    private static let minute: Int64 = 60_000_000_000

    private var begin: Int64?
    private var count = 0

    /// A limit that nothing was counted by yet.
    package init() {}

    /// Counts a message at `now`, monotonic nanoseconds. The first beyond the limit is ``Verdict/last``, the place for a
    /// word about those that follow.
    package mutating func admit(at now: Int64) -> Verdict {
        if begin.map({ now - $0 >= Self.minute }) ?? true {
            begin = now
            count = 0
        }
        count += 1
        if count <= Self.messages { return .passed }
        return count == Self.messages + 1 ? .last : .leftOut
    }

    /// What is said at `now` when there is `text` to say: that, a word about those that follow, or nothing.
    package mutating func said(of text: String, at now: Int64) -> String? {
        switch admit(at: now) {
        case .passed: text
        case .last: "there is more to say; further messages of this minute are left out"
        case .leftOut: nil
        }
    }
}
