// SPDX-License-Identifier: Apache-2.0

/// All faults of a configuration file, each with its place. No value is repeated, because it may be a secret.
package struct ConfigurationFailure: Error, Equatable, CustomStringConvertible {
    /// One fault.
    package struct Fault: Equatable {
        /// The fault's place; nil if it concerns the complete file.
        package let mark: ConfigurationMark?
        /// The key, as `channels[0].encoder.gop`; empty if the fault concerns the complete file.
        package let key: String
        /// A sentence that describes the fault.
        let text: String

        package init(mark: ConfigurationMark?, key: String, text: String) {
            (self.mark, self.key, self.text) = (mark, key, text)
        }
    }

    /// The file's path.
    let path: String
    /// The faults, at least one, in the file's order.
    package let faults: [Fault]

    /// Creates a failure of these faults, at least one.
    package init(path: String, faults: [Fault]) {
        (self.path, self.faults) = (path, faults)
    }

    /// One line for each fault: `relay.yaml:12:5: encoder.gop: …`.
    package var lines: [String] {
        faults.map { fault in
            let place = fault.mark.map { "\(path):\($0.line):\($0.column)" } ?? path
            return [place, fault.key, fault.text].filter { !$0.isEmpty }.joined(separator: ": ")
        }
    }

    package var description: String { lines.joined(separator: "\n") }
}

/// A place in a file, counted from 1.
package struct ConfigurationMark: Equatable, Comparable {
    package let line: Int
    package let column: Int

    /// Creates the place in this line and column.
    package init(line: Int, column: Int) {
        (self.line, self.column) = (line, column)
    }

    package static func < (left: Self, right: Self) -> Bool { (left.line, left.column) < (right.line, right.column) }
}
