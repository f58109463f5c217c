// SPDX-License-Identifier: Apache-2.0

/// A random order of several views. Each view occurs once per round. If there are several views, no view occurs twice
/// in a row, and the first view differs from the view that was on air before. The same seed gives the same order, and
/// any position in the order can be computed without computing the earlier ones.
struct RunDownOrder {
    private let count: Int
    private let seed: UInt64
    /// The view with which the order must not begin; nil if it can begin with any view.
    private let seen: Int?

    /// Creates an order of `count` views, of which the view `seen` is already on air.
    init(count: Int, seed: UInt64, seen: Int? = nil) { (self.count, self.seed, self.seen) = (count, seed, seen) }

    /// The view at position `index`, counted from 0.
    func view(_ index: Int64) -> Int {
        let (round, place) = (index / Int64(count), Int(index % Int64(count)))
        // Two views alternate, because any other order would show one of them twice in a row.
        guard count > 2 else { return beginning[place] }
        // If a round would begin with the last view of the previous round, its first two views are swapped. The swap
        // never changes the last view of a round, so `shuffled(round - 1)` has the right last view.
        var views = round == 0 ? beginning : shuffled(round)
        if round > 0, views[0] == shuffled(round - 1)[count - 1] { views.swapAt(0, 1) }
        return views[place]
    }

    private var beginning: [Int] {
        var views = shuffled(0)
        if count > 1, views[0] == seen { views.swapAt(0, 1) }
        return views
    }

    private func shuffled(_ round: Int64) -> [Int] {
        var numbers = SplitMix(state: seed ^ (UInt64(bitPattern: round) &* 0xD134_2543_DE82_EF95))
        var views = Array(0..<count)
        // This is the Fisher-Yates shuffle. The library's shuffle is not used, because it can change in a later
        // version.
        for last in stride(from: count - 1, to: 0, by: -1) {
            views.swapAt(last, Int(numbers.next() % UInt64(last + 1)))
        }
        return views
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014): pseudorandom numbers that are the same on every machine.
private struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
