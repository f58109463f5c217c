// SPDX-License-Identifier: Apache-2.0

/// What is wrong with a configuration file: each fault with its place. No value is repeated, as it may be a secret.
struct ConfigurationFailure: Error, Equatable, CustomStringConvertible {
    /// One fault.
    struct Fault: Equatable {
        /// Where it is; nil for the file as a whole.
        let mark: ConfigurationMark?
        /// The key, as `channels[0].encoder.gop`; empty for the file as a whole.
        let key: String
        /// A sentence.
        let text: String
    }

    /// The file's path.
    let path: String
    /// At least one, in the file's order.
    let faults: [Fault]

    /// One line for each fault: `relay.yaml:12:5: encoder.gop: …`.
    var lines: [String] {
        faults.map { fault in
            let place = fault.mark.map { "\(path):\($0.line):\($0.column)" } ?? path
            return [place, fault.key, fault.text].filter { !$0.isEmpty }.joined(separator: ": ")
        }
    }

    var description: String { lines.joined(separator: "\n") }
}

/// A place in a file, counted from 1.
struct ConfigurationMark: Equatable, Comparable {
    let line: Int
    let column: Int

    static func < (left: Self, right: Self) -> Bool { (left.line, left.column) < (right.line, right.column) }
}
