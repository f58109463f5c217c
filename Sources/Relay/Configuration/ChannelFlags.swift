// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Studio

/// The flags that are equivalent to one channel in a configuration file, and the nodes of the file from which they were
/// read.
struct ChannelFlags {
    /// A flag, and the node of the file from which it was read.
    struct Flag: Equatable {
        /// The flag as an argument: `--flag=value` or `--flag`.
        let argument: String
        /// The key that is equivalent to the flag, relative to the channel, such as `encoder.gop` or `outputs`.
        let path: String
        /// The key of the node that was read, relative to the channel, such as `outputs[1]`.
        let key: String
        /// The name of the node, if it is an entry of a mapping such as `scenes`.
        let name: String?
        /// The position of the node in the file.
        let mark: ConfigurationMark

        /// Creates the flag that was read from the node at `mark`.
        init(_ argument: String, path: String, key: String? = nil, name: String? = nil, _ mark: ConfigurationMark) {
            (self.argument, self.path, self.key) = (argument, path, key ?? path)
            (self.name, self.mark) = (name, mark)
        }

        /// Creates the flag for the entry `name` of the mapping `path`.
        static func named(_ name: String, _ argument: String, path: String, _ mark: ConfigurationMark) -> Flag {
            Flag(argument, path: path, key: "\(path).\(name)", name: name, mark)
        }

        /// The flag without its value.
        var flag: Substring { argument.prefix { $0 != "=" } }
    }

    /// All flags. Their order differs from the order in the file.
    var flags: [Flag] = []
    /// The channel's key, such as `channels[0]`.
    let key: String
    /// The position in the file at which the channel begins.
    let mark: ConfigurationMark
    /// The position of each key in the file. The dictionary's keys are paths relative to the channel.
    var marks: [String: ConfigurationMark] = [:]
    /// Whether the complete channel could be read.
    var isRead = true

    /// Creates a channel without flags; they are added when its nodes are read.
    init(key: String, mark: ConfigurationMark) { (self.key, self.mark) = (key, mark) }

    /// Returns the node from which `option` was read: its key relative to the channel, and its position. Returns nil if
    /// the option is not in the file.
    func place(of option: OptionReference) -> (key: String, mark: ConfigurationMark)? {
        let given = flags.filter { $0.flag == option.flag }
        let one: Flag? =
            switch option.element {
            case .number(let number): given.indices.contains(number - 1) ? given[number - 1] : nil
            case .name(let name): given.first { $0.name == name }
            case nil: nil
            }
        if let one { return (one.key, one.mark) }
        guard let path = ConfigurationKey.path(of: option.flag) else { return nil }
        // The option may be a complete list or mapping. A key for a single value also has a plural form for a list:
        // `input` and `inputs`.
        for key in [path, path + "s"] {
            if let mark = marks[key] { return (key, mark) }
        }
        return nil
    }

    /// Converts an error in an option to an error of the node from which the option was read. `hiding` removes secrets
    /// from a sentence.
    func fault(_ failure: TextFailure, hiding: (String) -> String) -> ConfigurationFailure.Fault {
        let text = failure.sentence.text { ConfigurationKey.path(of: $0) ?? $0 }
        let place = failure.options.lazy.compactMap { self.place(of: $0) }.first
        let absent = failure.options.lazy.compactMap { ConfigurationKey.path(of: $0.flag) }.first
        return .init(
            mark: place?.mark ?? mark, key: [key, place?.key ?? absent].compactMap(\.self).joined(separator: "."),
            text: hiding(text))
    }
}
