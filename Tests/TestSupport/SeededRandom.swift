// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// Reproducible random numbers for a test. They are the same in each run, so that a change is judged by what it does.
/// The environment variable `RELAY_TEST_SEED` sets another seed; `scripts/test --seeds N` tries N of them. The generator
/// is SplitMix64 (Steele, Lea and Flood, 2014).
package struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    /// Takes the seed from the environment, or else seed 1, and prints it with the name `test`.
    package init(_ test: String = #function) {
        let given = ProcessInfo.processInfo.environment["RELAY_TEST_SEED"].flatMap { UInt64($0) }
        let seed = given ?? 1
        print("\(test): RELAY_TEST_SEED=\(seed)")
        state = seed
    }

    /// Begins with `seed`, and ignores the environment, for a test that uses the same seed several times.
    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// Returns one of `values`, which must not be empty.
    package mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: values.indices, using: &self)]
    }

    /// Returns a text of up to `most` random pieces from `pieces`, for texts that are almost valid.
    package mutating func text(of pieces: [String], upTo most: Int) -> String {
        (0..<Int.random(in: 0...most, using: &self)).map { _ in pick(pieces) }.joined()
    }

    /// Returns `count` random bytes.
    package mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0 ... .max, using: &self) }
    }
}
