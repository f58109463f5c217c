// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Dispatch
internal import Media
internal import Synchronization

/// Finds out whether a second record directory is the first one, or in it, or around it.
///
/// A disk that hangs must not keep the directory on the other disk from being used, so a question without an answer
/// counts as no. Until a question is answered, no other thread asks the same question: each thread would hang, too.
///
/// Any thread may use it.
package final class CollisionCheck: Sendable {
    private struct Pair: Hashable {
        let first: String
        let second: String
    }

    /// A question that the disks have not answered yet.
    private final class Question: Sendable {
        let answered = DispatchGroup()
        let answer = Mutex(false)
    }

    private let patience: Duration
    private let ask: @Sendable (String, String) -> Bool
    private let questions = Mutex<[Pair: Question]>([:])

    /// Creates a check that waits at most 3 s for the disks.
    package convenience init() { self.init(patience: .seconds(3)) { RecordDirectory.areNested($0, $1) } }

    /// Creates a check that waits at most `patience` for `ask`, which can block for ever.
    init(patience: Duration, _ ask: @escaping @Sendable (String, String) -> Bool) {
        (self.patience, self.ask) = (patience, ask)
    }

    /// Whether the directories `first` and `second` collide; false if the disks do not answer in time. Blocks until
    /// they answer or the time is over.
    func collides(_ first: String, _ second: String) -> Bool {
        let question = question(of: Pair(first: first, second: second))
        let limit = DispatchTime.now() + .nanoseconds(Int(patience.inNanoseconds))
        guard question.answered.wait(timeout: limit) == .success else { return false }
        return question.answer.withLock { $0 }
    }

    /// Returns the question about `pair`, and begins to ask it unless it is being asked already.
    private func question(of pair: Pair) -> Question {
        questions.withLock { questions in
            if let question = questions[pair] { return question }
            let question = Question()
            questions[pair] = question
            question.answered.enter()
            DispatchQueue(label: "relay.prepare").async { [self] in
                let answer = ask(pair.first, pair.second)
                question.answer.withLock { $0 = answer }
                self.questions.withLock { $0[pair] = nil }
                question.answered.leave()
            }
            return question
        }
    }
}
