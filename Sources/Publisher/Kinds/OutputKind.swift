// SPDX-License-Identifier: Apache-2.0

package import FanOut
package import Networking

/// A kind of live output, such as RTMP or HLS. The command line, the configuration file, the help, the checks, the
/// status and the metrics get everything that they know about the kind from this value.
package struct OutputKind: Sendable {
    /// The name of the kind in one word. Outputs without a configured name are named after their kind and numbered,
    /// such as `srt-1`.
    package let name: OutputKindName
    /// The name that the status reports instead of `name` if the connection is encrypted with TLS, such as `rtmps`; nil
    /// if it reports `name` for all outputs of this kind.
    package let secureName: OutputKindName?
    /// The prefixes of the addresses of this kind, such as `rtmp://` and `rtmps://`.
    package let beginnings: [String]
    /// The name of the protocol as used in messages, such as `RTMP`.
    package let title: String
    /// The syntax of the addresses of this kind, as shown in the help.
    package let help: String
    /// The options of this kind that may follow the `#` of an address.
    package let options: [AddressOption]
    /// The status numbers of outputs of this kind, in addition to those that all outputs have.
    package let numbers: [OutputNumber]
    /// Parses an address of this kind, and removes the options of this kind from the given list.
    let read: @Sendable (String, inout OptionList, OutputDefaults) throws(AddressError) -> any OutputDestination

    /// Creates a kind of output with its `name`, and its name for encrypted connections if that differs; `read` parses
    /// its addresses.
    init(
        _ name: String, secure secureName: String? = nil, beginnings: [String], title: String, help: String,
        options: [AddressOption] = [], numbers: [OutputNumber] = [],
        read:
            @escaping @Sendable (String, inout OptionList, OutputDefaults) throws(AddressError)
            -> any OutputDestination
    ) {
        self.name = OutputKindName(rawValue: name)
        self.secureName = secureName.map { OutputKindName(rawValue: $0) }
        (self.beginnings, self.title, self.help) = (beginnings, title, help)
        (self.options, self.numbers, self.read) = (options, numbers, read)
    }

    /// All names that the status reports for outputs of this kind.
    package var names: [OutputKindName] { [name, secureName].compactMap(\.self) }

    /// Returns the name that the status reports for an output of this kind whose connection is or is not encrypted.
    func name(isSecure: Bool) -> OutputKindName { isSecure ? secureName ?? name : name }

    /// Returns the kind of output whose address prefix `text` begins with, even if the rest of the address is invalid.
    /// Returns nil if no kind has such a prefix.
    package static func of(_ text: String) -> OutputKind? {
        let scheme = text.prefix { $0 != ":" && $0 != "/" }.lowercased()
        return all.first { kind in
            kind.beginnings.contains { $0.prefix { $0 != ":" } == scheme }
        }
    }
}

/// Settings from flags that apply to all outputs. The options of a single output override them.
package struct OutputDefaults: Sendable {
    /// Decides which TLS certificates of servers are accepted.
    package var tls = TLSVerification.system

    package init() {}
}

/// The parsed address of a live output.
package struct OutputAddress: Sendable {
    /// The kind of output.
    package let kind: OutputKind
    /// The destination with its options.
    package let destination: any OutputDestination

    /// Parses the address `text`. Removes the options of the address's kind from `options`. `defaults` apply to options
    /// that are missing.
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
