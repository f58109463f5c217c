// SPDX-License-Identifier: Apache-2.0

/// Keeps a talkative peer from filling the log: decides which of its messages an operator sees.
struct NoticeLimit {
    /// What becomes of a message.
    enum Verdict { case passed, last, leftOut }

    /// Messages in a minute that pass.
    static let messages = 20
    private static let minute: Int64 = 60_000_000_000

    private var begin: Int64?
    private var count = 0

    /// Counts a message at `now`, monotonic nanoseconds. The first beyond the limit is ``Verdict/last``, the place for a
    /// word about those that follow.
    mutating func admit(at now: Int64) -> Verdict {
        if begin.map({ now - $0 >= Self.minute }) ?? true {
            begin = now
            count = 0
        }
        count += 1
        if count <= Self.messages { return .passed }
        return count == Self.messages + 1 ? .last : .leftOut
    }
}
