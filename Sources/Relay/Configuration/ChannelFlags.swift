// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Studio

/// The flags that a channel of a configuration file stands for, and the nodes of the file that they come from.
struct ChannelFlags {
    /// One flag.
    struct Flag: Equatable {
        /// `--flag=value` or `--flag`.
        let argument: String
        /// The key that stands for the flag, from the channel on, such as `encoder.gop` or `outputs`.
        let path: String
        /// The key of the node that was read, such as `outputs[1]`.
        let key: String
        /// What the node is called, for one of a mapping of names.
        let name: String?
        /// The place of the node.
        let mark: ConfigurationMark

        /// The flag that was read from the node at `mark`.
        init(
            _ argument: String, path: String, key: String? = nil, name: String? = nil, _ mark: ConfigurationMark
        ) {
            (self.argument, self.path, self.key) = (argument, path, key ?? path)
            (self.name, self.mark) = (name, mark)
        }

        /// One of the mapping `path`, whose nodes have names.
        static func named(_ name: String, _ argument: String, path: String, _ mark: ConfigurationMark) -> Flag {
            Flag(argument, path: path, key: "\(path).\(name)", name: name, mark)
        }

        /// The flag without its value.
        var flag: Substring { argument.prefix { $0 != "=" } }
    }

    /// All flags, in an order of its own and not the file's.
    var flags: [Flag] = []
    /// The channel's key, such as `channels[0]`.
    let key: String
    /// Where the channel is described.
    let mark: ConfigurationMark
    /// Where each key is written, by its path from the channel on.
    var marks: [String: ConfigurationMark] = [:]
    /// Whether all of it could be read.
    var isRead = true

    /// A channel of which nothing is read yet.
    init(key: String, mark: ConfigurationMark) { (self.key, self.mark) = (key, mark) }

    /// The node that `option` comes from, as its key from the channel on and its place; nil if the file does not have it.
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
        // A list or a mapping as a whole; of one input there may be a list, too.
        for key in [path, path + "s"] {
            if let mark = marks[key] { return (key, mark) }
        }
        return nil
    }

    /// What is wrong with an option, as a fault of the node that it comes from. `hiding` leaves secrets out of a sentence.
    func fault(_ failure: TextFailure, hiding: (String) -> String) -> ConfigurationFailure.Fault {
        let text = failure.sentence.text { ConfigurationKey.path(of: $0) ?? $0 }
        let place = failure.options.lazy.compactMap { self.place(of: $0) }.first
        let absent = failure.options.lazy.compactMap { ConfigurationKey.path(of: $0.flag) }.first
        return .init(
            mark: place?.mark ?? mark, key: [key, place?.key ?? absent].compactMap(\.self).joined(separator: "."),
            text: hiding(text))
    }
}
