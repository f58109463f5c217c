// SPDX-License-Identifier: Apache-2.0

/// Something that outputs of one kind count, beside what all outputs tell.
package struct OutputNumber: Sendable, Hashable {
    /// What the status calls it. It does not change.
    package let key: String
    /// What the metric of it is called.
    package let metric: String
    /// What the number is, in one line.
    package let help: String
    /// Whether it only grows.
    package let isCounter: Bool

    /// A number that the status calls `key`.
    package init(_ key: String, metric: String, _ help: String, isCounter: Bool = true) {
        (self.key, self.metric, self.help, self.isCounter) = (key, metric, help, isCounter)
    }
}
