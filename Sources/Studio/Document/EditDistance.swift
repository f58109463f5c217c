// SPDX-License-Identifier: Apache-2.0

/// The distance between two words: how many letters must be inserted, removed, replaced or swapped with a neighbour
/// (the optimal string alignment distance).
package enum EditDistance {
    /// The word that is nearest to `word`; nil if more than half of its letters are wrong.
    package static func nearest(to word: String, among words: [String]) -> String? {
        let word = word.lowercased()
        let distances = words.map { ($0, between(word, $0.lowercased())) }
        guard let (nearest, distance) = distances.min(by: { $0.1 < $1.1 }) else { return nil }
        return distance <= max(1, word.count / 2) ? nearest : nil
    }

    /// The number of changes that turn `first` into `second`.
    static func between(_ first: String, _ second: String) -> Int {
        let (first, second) = (Array(first.prefix(64)), Array(second.prefix(64)))
        var before: [Int] = []
        var row = Array(0...second.count)
        for (i, letter) in first.enumerated() {
            var next = [i + 1]
            for (j, other) in second.enumerated() {
                var changes = min(row[j + 1] + 1, next[j] + 1, row[j] + (letter == other ? 0 : 1))
                if i > 0, j > 0, letter == second[j - 1], first[i - 1] == other {
                    changes = min(changes, before[j - 1] + 1)
                }
                next.append(changes)
            }
            (before, row) = (row, next)
        }
        return row[second.count]
    }
}
