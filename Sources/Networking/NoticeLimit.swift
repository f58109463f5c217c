// SPDX-License-Identifier: Apache-2.0

package import Media

/// Decides which messages of a peer are logged, so that a peer that sends many messages does not fill the log.
package struct NoticeLimit: Sendable {
    /// What the caller does with a message.
    package enum Verdict: Sendable { case passed, last, leftOut }

    /// Number of messages per minute that are logged.
    package static let messages = 20
    private static let minute = Duration.seconds(60)

    private var begin: MonotonicInstant?
    private var count = 0

    /// A limit that has counted no message.
    package init() {}

    /// Counts a message at `now`. The first message beyond the limit gets ``Verdict/last``:
    /// the caller then logs that further messages are omitted.
    package mutating func admit(at now: MonotonicInstant) -> Verdict {
        if begin.map({ now - $0 >= Self.minute }) ?? true {
            begin = now
            count = 0
        }
        count += 1
        if count <= Self.messages { return .passed }
        return count == Self.messages + 1 ? .last : .leftOut
    }

    /// The text to log at `now` for the message `text`: the message itself, a notice that further messages are omitted,
    /// or nil.
    package mutating func said(of text: String, at now: MonotonicInstant) -> String? {
        switch admit(at: now) {
        case .passed: text
        case .last: "there is more to say; further messages of this minute are left out"
        case .leftOut: nil
        }
    }
}
