// SPDX-License-Identifier: Apache-2.0

/// Checks that each packet or frame that an output was given was taken, was dropped and counted, or still waits. Only
/// those that came while the output had not joined the program may be missing from these counts: before its first
/// keyframe on air, and in the same way after each pause, or before the first receiver of an output that listens.
struct AccountingCheck {
    /// The number that is not counted anywhere, because the output had not joined the program.
    private(set) var missing = 0
    private var mayMiss: Bool
    private let what: String

    /// A check of `what`, `packets` or `frames`. `mayMiss` is true if the output has not joined the program yet.
    init(of what: String, mayMiss: Bool) { (self.what, self.mayMiss) = (what, mayMiss) }

    /// Checks the counts after `fed` were given, of which `taken` were taken. Returns the fault, or nil.
    mutating func fault(fed: Int, taken: Int, dropped: Int, waiting: Int, isJoining: Bool) -> String? {
        let (before, could) = (missing, mayMiss)
        (missing, mayMiss) = (fed - taken - dropped - waiting, isJoining)
        let numbers = "given \(fed), taken \(taken), dropped \(dropped), waiting \(waiting)"
        if missing < before { return "\(what) are counted twice: \(numbers)" }
        if missing > before, !could { return "\(what) are lost and not counted: \(numbers)" }
        return nil
    }
}
