// SPDX-License-Identifier: Apache-2.0

/// A key with any name, for objects whose keys are not known when the program is compiled.
package struct AnyCodingKey: CodingKey {
    package let stringValue: String
    package var intValue: Int? { nil }

    /// The key `name`.
    package init(_ name: String) { stringValue = name }
    package init(stringValue: String) { self.stringValue = stringValue }
    package init?(intValue: Int) { nil }
}
