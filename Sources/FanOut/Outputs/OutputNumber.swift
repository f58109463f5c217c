// SPDX-License-Identifier: Apache-2.0

/// A number that only outputs of one kind have, in addition to the numbers of all outputs.
package struct OutputNumber: Sendable, Hashable {
    /// The number's name in the status, which does not change.
    package let key: String
    /// The name of the metric.
    package let metric: String
    /// What the number is, in one line.
    package let help: String
    /// Whether the number only increases.
    package let isCounter: Bool

    /// A number whose name in the status is `key`.
    package init(_ key: String, metric: String, _ help: String, isCounter: Bool = true) {
        (self.key, self.metric, self.help, self.isCounter) = (key, metric, help, isCounter)
    }
}
