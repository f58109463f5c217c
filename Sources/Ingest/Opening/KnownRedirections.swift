// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Where the servers of an open input redirect to. A live playlist is read again and again, and its server is asked
/// only once whether it redirects. Any thread may use it.
final class KnownRedirections: Sendable {
    /// The number of answers that are kept. Between two readings of a playlist fewer other addresses are requested, so
    /// the answer for the playlist is not dropped.
    static let most = 32

    /// The answers, the least recently used one first.
    private let answers = Mutex<[HTTPRedirection]>([])

    /// Returns the redirection of `url`. If it is not known, calls `ask`, and keeps the result of `ask` if the servers
    /// have answered.
    func find(_ url: String, _ ask: () -> HTTPRedirection) -> HTTPRedirection {
        let known = answers.withLock { answers -> HTTPRedirection? in
            guard let index = answers.firstIndex(where: { $0.first == url }) else { return nil }
            let answer = answers.remove(at: index)
            answers.append(answer)
            return answer
        }
        if let known { return known }
        let found = ask()
        guard found.isAnswered else { return found }
        answers.withLock { answers in
            answers.removeAll { $0.first == url }
            answers.append(found)
            if answers.count > Self.most { answers.removeFirst() }
        }
        return found
    }

    /// Forgets all known redirections, because the input is opened again.
    func forget() { answers.withLock { $0 = [] } }
}
