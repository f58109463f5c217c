// SPDX-License-Identifier: Apache-2.0

package import Networking

/// The destination of a live output, with the options of its kind.
package struct OutputAddress: Sendable {
    /// The kind of output.
    package let kind: OutputKind
    /// The destination that was parsed from the address.
    package let destination: any OutputDestination

    /// Parses the address in `text`. The options of its kind are removed from `options`; `defaults` apply where an
    /// option is missing.
    package init(
        _ text: String, options: inout OptionList, defaults: OutputDefaults = OutputDefaults()
    ) throws(AddressError) {
        guard let kind = OutputKind.of(text) else {
            let all = OutputKind.all.flatMap(\.beginnings)
            throw AddressError("Addresses begin with \(all.dropLast().joined(separator: ", ")) or \(all.last ?? "").")
        }
        self.kind = kind
        destination = try kind.read(text, &options, defaults)
    }
}
