// SPDX-License-Identifier: Apache-2.0

/// The protocol of an output in one word, such as `rtmp` or `rtmps-listen`. The status, the metrics and the names of
/// outputs contain this word.
///
/// This is no enum, because each kind of output defines its own name.
package struct OutputKindName: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package var description: String { rawValue }
}
