// SPDX-License-Identifier: Apache-2.0

/// Checks that each packet that an output was given was taken by an attempt, was dropped and counted, or still waits.
struct AccountingCheck {
    /// The number of packets that are not counted anywhere, because the output had not joined the program.
    private(set) var missing = 0
    private var mayMiss: Bool

    /// `mayMiss` tells whether the output has not joined the program yet, so that packets may be missing from its
    /// counts.
    init(mayMiss: Bool) { self.mayMiss = mayMiss }

    /// Checks the counts after `fed` packets, of which the attempts took `taken`. Returns the fault, or nil.
    mutating func fault(fed: Int, taken: Int, dropped: Int, waiting: Int, isJoining: Bool) -> String? {
        let (before, could) = (missing, mayMiss)
        (missing, mayMiss) = (fed - taken - dropped - waiting, isJoining)
        let numbers = "given \(fed), taken \(taken), dropped \(dropped), waiting \(waiting)"
        if missing < before { return "packets are counted twice: \(numbers)" }
        if missing > before, !could { return "packets are lost and not counted: \(numbers)" }
        return nil
    }
}
