// SPDX-License-Identifier: Apache-2.0

/// Remembers which files the vetoes allow to be deleted. So each time retention checks the channel's files, it asks the
/// vetoes about a bounded number of files, however many there are. Only a check without earlier answers asks about all
/// files.
///
/// Each check passes its files in the same order, the oldest first. It asks about the oldest files, which are deleted
/// next, and about some of the other files in turn. For all other files the last answer counts, but only to compute
/// what could be deleted: before a deletion, ``renew(_:_:)`` asks again. In an archive of up to twice ``most`` files,
/// each check asks about all of them.
struct VetoAnswers: Sendable {
    /// Each check of the files asks about this many of the oldest files, and about as many of the other files in turn.
    static let most = 250

    private var answers: [String: Bool] = [:]
    /// The number of files that were passed to ``mayDelete(_:_:)`` since the last ``begin()``.
    private var passed = 0
    /// The position, in the order of the files, of the first of the other files about which the vetoes are asked in
    /// turn.
    private var turn = VetoAnswers.most
    /// How many files without an earlier answer can still be asked about before the next ``begin()``.
    private var newcomers = Int.max
    /// How often the vetoes were asked.
    private(set) var asked = 0

    /// Begins a check of the files. If there are no earlier answers, the check asks about all files.
    mutating func begin() {
        newcomers = answers.isEmpty ? .max : 2 * Self.most
        passed = 0
    }

    /// Ends a check of the files, and moves on to the files that the next check asks about in turn.
    mutating func end() {
        turn += Self.most
        if turn >= passed { turn = Self.most }
        // Files that disappeared without being deleted by retention leave their answers behind.
        if answers.count > 2 * passed + 10_000 { answers.removeAll() }
    }

    /// Whether the next file, called `name`, may be deleted. The answer comes from `ask`, or is an earlier answer.
    /// Without any answer, the file may not be deleted.
    mutating func mayDelete(_ name: String, _ ask: (String) -> Bool) -> Bool {
        defer { passed += 1 }
        if passed < Self.most || (turn..<turn + Self.most).contains(passed) { return renew(name, ask) }
        if let answer = answers[name] { return answer }
        guard newcomers > 0 else { return false }
        newcomers -= 1
        return renew(name, ask)
    }

    /// Asks whether the file `name` may be deleted now. A check that deletes many files can take minutes, so an answer
    /// from its beginning is not enough for a deletion.
    mutating func renew(_ name: String, _ ask: (String) -> Bool) -> Bool {
        let answer = ask(name)
        answers[name] = answer
        asked += 1
        return answer
    }

    /// Forgets a file that was deleted.
    mutating func forget(_ name: String) { answers[name] = nil }
}
