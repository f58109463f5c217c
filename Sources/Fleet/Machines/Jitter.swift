// SPDX-License-Identifier: Apache-2.0

/// Random numbers that spread the waits of hosts. A value, so that a simulation can repeat a walk. The numbers are those
/// of SplitMix64 (Steele, Lea and Flood, 2014).
package struct Jitter: Sendable {
    private var state: UInt64

    /// Numbers that depend on `seed` alone. Each process needs a seed of its own.
    package init(seed: UInt64) { state = seed }

    /// Goes to the next round, in which every name has another number.
    package mutating func advance() { state &+= 0x9E37_79B9_7F4A_7C15 }

    /// The number of `name` in this round, in 0..<1. It does not depend on the order in which names are asked for.
    package func value(for name: String) -> Double {
        // FNV-1a.
        let hash = name.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        var mixed = state ^ hash
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Double((mixed ^ (mixed >> 31)) >> 11) * 0x1p-53
    }
}
