// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// Random numbers for a test, which can be had again: the seed is printed, and `RELAY_TEST_SEED` in the environment
/// gives it. The generator is SplitMix64 (Steele, Lea and Flood, 2014).
package struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    /// Takes the seed from the environment, else any, and prints it with `test`.
    package init(_ test: String = #function) {
        let given = ProcessInfo.processInfo.environment["RELAY_TEST_SEED"].flatMap { UInt64($0) }
        let seed = given ?? .random(in: 0 ... .max)
        print("\(test): RELAY_TEST_SEED=\(seed)")
        state = seed
    }

    /// Begins with `seed`, whatever the environment says: for a test that has several runs of one seed.
    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// One of `values`, of which there must be some.
    package mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: values.indices, using: &self)]
    }

    /// Up to `most` pieces of `pieces`, one behind the other: for texts that are nearly what they should be.
    package mutating func text(of pieces: [String], upTo most: Int) -> String {
        (0..<Int.random(in: 0...most, using: &self)).map { _ in pick(pieces) }.joined()
    }

    /// So many bytes.
    package mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0 ... .max, using: &self) }
    }
}
