// SPDX-License-Identifier: Apache-2.0

/// Which of a channel's inputs is on air, and how often the input on air has changed.
package struct SelectionStatus: Sendable, Codable {
    /// The name of the input on air, or `slate`; nil before anything is on air.
    package var onAir: String?
    /// The index of that input in the order of preference, 0 for the first; nil for the slate.
    package var number: Int?
    /// Why this input is on air.
    package var reason: String?
    /// How many times the input on air has changed.
    package var switches: Int64 = 0
    /// The names of the inputs, in order of preference.
    package var inputs: [String]
    /// The inputs that are open.
    package var open: [String] = []

    /// The status before any of these inputs is on air.
    package init(
        onAir: String? = nil, number: Int? = nil, reason: String? = nil, switches: Int64 = 0, inputs: [String],
        open: [String] = []
    ) {
        (self.onAir, self.number, self.reason, self.switches) = (onAir, number, reason, switches)
        (self.inputs, self.open) = (inputs, open)
    }
}
