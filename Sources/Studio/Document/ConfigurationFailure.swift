// SPDX-License-Identifier: Apache-2.0

/// All errors in a configuration file, each with its position. No value that can be a secret is repeated.
package struct ConfigurationFailure: Error, Equatable, CustomStringConvertible {
    /// One error in a configuration file.
    package struct Fault: Equatable {
        /// The position of the error; nil if it concerns the complete file.
        package let mark: ConfigurationMark?
        /// The key, such as `channels[0].encoder.gop`; empty if the error concerns the complete file.
        package let key: String
        /// A sentence that describes the error.
        let text: String

        package init(mark: ConfigurationMark?, key: String, text: String) {
            (self.mark, self.key, self.text) = (mark, key, text)
        }
    }

    /// The file's path.
    let path: String
    /// The errors, at least one, in the order of the file.
    package let faults: [Fault]

    /// A failure with these errors, at least one.
    package init(path: String, faults: [Fault]) {
        (self.path, self.faults) = (path, faults)
    }

    /// One line for each error: `relay.yaml:12:5: encoder.gop: …`.
    package var lines: [String] {
        faults.map { fault in
            let place = fault.mark.map { "\(path):\($0.line):\($0.column)" } ?? path
            return [place, fault.key, fault.text].filter { !$0.isEmpty }.joined(separator: ": ")
        }
    }

    package var description: String { lines.joined(separator: "\n") }
}

/// A position in a file: a line and a column, both counted from 1.
package struct ConfigurationMark: Equatable, Comparable {
    package let line: Int
    package let column: Int

    /// The position in this line and column.
    package init(line: Int, column: Int) {
        (self.line, self.column) = (line, column)
    }

    package static func < (left: Self, right: Self) -> Bool { (left.line, left.column) < (right.line, right.column) }
}
