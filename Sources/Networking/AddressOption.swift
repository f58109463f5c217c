// SPDX-License-Identifier: Apache-2.0

/// An option that follows the `#` of an address, with its names on the command line and in a configuration file.
package struct AddressOption: Sendable, Equatable {
    /// The form of the option's value in a configuration file.
    package enum Form: Sendable, Equatable {
        case text
        /// A text, or a number of seconds.
        case time
        /// `true` or `false`; behind the `#`, `yes` or `no`.
        case answer
        /// A list of addresses, each of which may have options. On the command line the option is repeated for each
        /// address.
        case addresses
    }

    /// The option's name in a configuration file, such as `queueBytes`.
    package let key: String
    /// The option's name behind the `#`, such as `queue-bytes`.
    package let name: String
    /// The form of the value in a configuration file.
    package let form: Form
    /// The option's description in the help of a flag, such as `queue=2s (what may wait for a slow target)`.
    package let help: String

    /// The option with this key in a configuration file, and this name behind the `#`.
    package init(_ key: String, _ name: String, _ form: Form = .text, help: String = "") {
        (self.key, self.name, self.form, self.help) = (key, name, form, help)
    }
}
