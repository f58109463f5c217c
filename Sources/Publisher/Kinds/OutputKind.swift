// SPDX-License-Identifier: Apache-2.0

package import FanOut
package import Networking

/// One kind of live output, with everything that relay knows about it. The command line, the configuration file, the
/// help, the checks, the status and the metrics read it from here.
package struct OutputKind: Sendable {
    /// The kind in one word. Outputs without a configured name are named after it: `srt-1`.
    package let name: String
    /// The prefixes of its addresses, such as `rtmp://` and `rtmps://`.
    package let beginnings: [String]
    /// The name of the protocol for sentences, such as `RTMP`.
    package let title: String
    /// The syntax of its addresses, for the help of flags.
    package let help: String
    /// The options of this kind after the `#` of an address.
    package let options: [AddressOption]
    /// The numbers of its outputs, in addition to the numbers that all outputs have.
    package let numbers: [OutputNumber]
    /// Parses an address, and removes the options of this kind from a list.
    let read: @Sendable (String, inout OptionList, OutputDefaults) throws(AddressError) -> any OutputDestination

    /// A kind whose addresses are parsed by `read`.
    init(
        _ name: String, beginnings: [String], title: String, help: String, options: [AddressOption] = [],
        numbers: [OutputNumber] = [],
        read:
            @escaping @Sendable (String, inout OptionList, OutputDefaults) throws(AddressError)
            -> any OutputDestination
    ) {
        (self.name, self.beginnings, self.title, self.help) = (name, beginnings, title, help)
        (self.options, self.numbers, self.read) = (options, numbers, read)
    }

    /// The kind of the address in `text`, which need not be valid; nil if its prefix belongs to no kind.
    package static func of(_ text: String) -> OutputKind? {
        let scheme = text.prefix { $0 != ":" && $0 != "/" }.lowercased()
        return all.first { kind in
            kind.beginnings.contains { $0.prefix { $0 != ":" } == scheme }
        }
    }
}

/// Settings of flags for all outputs; the options of a single output override them.
package struct OutputDefaults: Sendable {
    /// Which server certificates are accepted.
    package var tls = TLSVerification.system

    package init() {}
}

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
