// SPDX-License-Identifier: Apache-2.0

/// An option behind the `#` of an address, as the command line and a configuration file call it.
package struct AddressOption: Sendable, Equatable {
    /// What a configuration file has behind the option's key.
    package enum Form: Sendable, Equatable {
        case text
        /// A text, or a number of seconds.
        case time
        /// `true` or `false`, which are `yes` and `no` behind the `#`.
        case answer
        /// A list of addresses, each of which may have options: the option is given once for each.
        case addresses
    }

    /// What the option is called in a configuration file, such as `queueBytes`.
    package let key: String
    /// What it is called behind the `#`, such as `queue-bytes`.
    package let name: String
    /// What a configuration file has behind the key.
    package let form: Form
    /// How the help of a flag shows it, such as `queue=2s (what may wait for a slow target)`.
    package let help: String

    /// The option with this key and this name.
    package init(_ key: String, _ name: String, _ form: Form = .text, help: String = "") {
        (self.key, self.name, self.form, self.help) = (key, name, form, help)
    }
}
