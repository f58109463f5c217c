// SPDX-License-Identifier: Apache-2.0

internal import Networking
internal import Studio

/// Converts the tree of a configuration file to the equivalent flags. Each error is stored with its position, and
/// reading continues, so that all errors are reported at once.
struct ConfigurationReader: NodeReader {
    /// The settings of the log.
    struct Log: Equatable {
        var format: LogFormat?
        var isVerbose = false
        var showsStatus = true
    }

    private(set) var channels: [ChannelFlags] = []
    private(set) var log = Log()
    /// Whether all settings of the HTTP server could be read.
    private(set) var isHTTPRead = true
    var http = ControlKeys()
    var httpMarks: [String: ConfigurationMark] = [:]
    var faults: [ConfigurationFailure.Fault] = []

    /// Reads the complete file.
    init(_ root: ConfigurationNode) {
        guard let entries = mapping(root, "", "The file is a mapping with channels: and, if needed, log:.") else {
            return
        }
        for entry in entries {
            switch entry.key {
            case "channels": readChannels(entry.node)
            case "log": readLog(entry.node)
            case "http":
                let before = faults.count
                readHTTP(entry.node)
                isHTTPRead = faults.count == before
            default: unknown(entry, in: "", known: ["channels", "log", "http"])
            }
        }
        if channels.isEmpty, faults.isEmpty { fault(root.mark, "channels", "There is no channel: name at least one.") }
    }

    private mutating func readChannels(_ node: ConfigurationNode) {
        guard case .sequence(let nodes) = node.content else {
            return fault(node.mark, "channels", "It is a list, one channel behind each hyphen.")
        }
        for (index, node) in nodes.enumerated() { readChannel(node, "channels[\(index)]") }
    }

    private mutating func readLog(_ node: ConfigurationNode) {
        for entry in mapping(node, "log", "It is a mapping.") ?? [] {
            let key = "log.\(entry.key)"
            switch entry.key {
            case "format":
                log.format = scalar(entry.node, key).flatMap { LogFormat(rawValue: $0) }
                if log.format == nil { fault(entry.node.mark, key, "It is text or json.") }
            case "verbose": log.isVerbose = truth(entry.node, key) ?? false
            case "status": log.showsStatus = truth(entry.node, key) ?? true
            default: unknown(entry, in: "log", known: ["format", "verbose", "status"])
            }
        }
    }
}

// MARK: A channel

extension ConfigurationReader {
    private static let sections = Set(
        ConfigurationKey.all.compactMap { key in key.path.split(separator: ".").dropLast().first.map(String.init) })

    private mutating func readChannel(_ node: ConfigurationNode, _ name: String) {
        var channel = ChannelFlags(key: name, mark: node.mark)
        var values: [String: [ChannelFlags.Flag]] = [:]
        let before = faults.count
        for entry in mapping(node, name, "It is a mapping with the channel's keys.") ?? [] {
            channel.marks[entry.key] = entry.node.mark
            let key = "\(name).\(entry.key)"
            switch entry.key {
            case "input", "audioInput":
                let (flag, options) =
                    entry.key == "input"
                    ? ("--input", AddressOption.ofInput) : ("--audio-input", AddressOption.ofBackup)
                values[entry.key] = address(entry.node, key, options).map {
                    [.init("\(flag)=\($0)", path: entry.key, entry.node.mark)]
                }
            case "inputs":
                values["input"] = readAddresses(entry.node, key, "inputs", "--input", AddressOption.ofInput)
            case "renditions": values["renditions"] = readRenditions(entry.node, key)
            case "scenes": values["scenes"] = readScenes(entry.node, key)
            case "overlays": values["overlays"] = readOverlays(entry.node, key)
            case "stingers": values["stingers"] = readStingers(entry.node, key)
            case "outputs":
                values["outputs"] = readAddresses(entry.node, key, "outputs", "--output", AddressOption.ofOutput)
            case let section where Self.sections.contains(section):
                for inner in mapping(entry.node, key, "It is a mapping.") ?? [] {
                    read(inner, "\(section).\(inner.key)", name, &channel, &values)
                }
            default: read(entry, entry.key, name, &channel, &values)
            }
        }
        if channel.marks["input"] != nil, channel.marks["inputs"] != nil {
            fault(channel.marks["inputs"], "\(name).inputs", "There is input, too: leave one of them out.")
        }
        for path in ["input"] + ConfigurationKey.mappings + ConfigurationKey.all.map(\.path) + ["outputs"] {
            channel.flags += values[path] ?? []
        }
        channel.isRead = faults.count == before
        channels.append(channel)
    }

    private mutating func read(
        _ entry: ConfigurationNode.Entry, _ path: String, _ name: String, _ channel: inout ChannelFlags,
        _ values: inout [String: [ChannelFlags.Flag]]
    ) {
        channel.marks[path] = entry.node.mark
        guard let key = ConfigurationKey.all.first(where: { $0.path == path }) else {
            let section = path.split(separator: ".").dropLast().first.map { "\($0)." } ?? ""
            let known = ConfigurationKey.all.map(\.path).filter { $0.hasPrefix(section) }.map {
                $0.dropFirst(section.count).prefix { $0 != "." }
            }
            let own = section.isEmpty ? ["input", "inputs", "outputs"] + ConfigurationKey.mappings : []
            return unknown(
                entry, in: section.isEmpty ? name : "\(name).\(section.dropLast())",
                known: own + known.map(String.init))
        }
        let place = "\(name).\(path)"
        let mark = entry.node.mark
        switch key.form {
        case .text: values[path] = scalar(entry.node, place).map { [.init("\(key.flag)=\($0)", path: path, mark)] }
        case .time: values[path] = time(entry.node, place).map { [.init("\(key.flag)=\($0)", path: path, mark)] }
        case .isGiven: values[path] = truth(entry.node, place).map { $0 ? [.init(key.flag, path: path, mark)] : [] }
        case .choice(let flags):
            guard let word = scalar(entry.node, place) else { return }
            guard let flag = flags[word] else {
                return fault(entry.node.mark, place, "It is \(Self.either(flags.keys.sorted())).")
            }
            values[path] = flag.map { [.init($0, path: path, mark)] } ?? []
        }
    }

    /// Converts a list of addresses to the equivalent flags.
    private mutating func readAddresses(
        _ node: ConfigurationNode, _ key: String, _ path: String, _ flag: String, _ options: [AddressOption]
    ) -> [ChannelFlags.Flag]? {
        guard case .sequence(let nodes) = node.content else {
            fault(node.mark, key, "It is a list, one \(path.dropLast()) behind each hyphen.")
            return nil
        }
        return nodes.enumerated().compactMap { index, node in
            address(node, "\(key)[\(index)]", options).map {
                .init("\(flag)=\($0)", path: path, key: "\(path)[\(index)]", node.mark)
            }
        }
    }

    /// Reads an address and its options, and returns them as the value of the equivalent flag. The node is a text, or a
    /// mapping with `address` and the keys of options.
    private mutating func address(_ node: ConfigurationNode, _ key: String, _ options: [AddressOption]) -> String? {
        guard case .mapping(let entries) = node.content else {
            return scalar(node, key, orElse: "It is an address, or a mapping with address: and options.")
        }
        var address: String?
        var given: [String: [String]] = [:]
        for entry in entries {
            let place = "\(key).\(entry.key)"
            if entry.key == "address" {
                address = scalar(entry.node, place)
            } else if let option = options.first(where: { $0.key == entry.key }) {
                given[option.name] = values(of: option, entry.node, place)
            } else {
                unknown(entry, in: key, known: ["address"] + options.map(\.key))
            }
        }
        guard let address else {
            fault(node.mark, key, "It has no address.")
            return nil
        }
        let pairs = options.flatMap { option in
            (given[option.name] ?? []).map { "\(option.name)=\($0.replacing(",", with: "%2C"))" }
        }
        guard !pairs.isEmpty else { return address }
        guard !address.replacing("#!", with: "").contains("#") else {
            fault(node.mark, key, "Options stand behind the # of the address, or are keys beside it; not both.")
            return nil
        }
        return address + "#" + pairs.joined(separator: ",")
    }

    private mutating func values(of option: AddressOption, _ node: ConfigurationNode, _ key: String) -> [String]? {
        switch option.form {
        case .text: return scalar(node, key).map { [$0] }
        case .time: return time(node, key).map { [$0] }
        case .answer: return truth(node, key).map { [$0 ? "yes" : "no"] }
        case .addresses:
            guard case .sequence(let nodes) = node.content else {
                fault(node.mark, key, "It is a list, one address behind each hyphen.")
                return nil
            }
            return nodes.enumerated().compactMap { address($1, "\(key)[\($0)]", AddressOption.ofBackup) }
        }
    }
}

// Converts renditions, which have names, to the equivalent flags.
extension ConfigurationReader {
    /// The keys of a rendition in the file. The names of the options in the flag are accepted as well.
    static let renditionOptions: [AddressOption] = [
        .init("videoBitrate", "video-bitrate"), .init("gop", "gop", .time), .init("size", "size"),
        .init("preset", "preset"), .init("tune", "tune"), .init("profile", "profile"), .init("bFrames", "bframes"),
        .init("audioBitrate", "audio-bitrate"),
    ]

    /// Reads `renditions`: a mapping of names to encoder settings.
    private mutating func readRenditions(_ node: ConfigurationNode, _ key: String) -> [ChannelFlags.Flag]? {
        let entries = mapping(node, key, "It is a mapping, a rendition behind each name.") ?? []
        // The order of renditions has no meaning. They are sorted here, so that a new order in the file does not count
        // as a change.
        return entries.sorted { $0.key < $1.key }.compactMap { entry in
            readRendition(entry.node, "\(key).\(entry.key)").map {
                .named(entry.key, "--rendition=\(entry.key)#\($0)", path: "renditions", entry.node.mark)
            }
        }
    }

    private mutating func readRendition(_ node: ConfigurationNode, _ key: String) -> String? {
        guard let entries = mapping(node, key, "It is a mapping with the rendition's keys.") else { return nil }
        if entries.isEmpty { fault(node.mark, key, "It says nothing: give at least one key, such as videoBitrate.") }
        var given: [String: String] = [:]
        for entry in entries {
            let option = Self.renditionOptions.first { [$0.key, $0.name].contains(entry.key) }
            guard let option else {
                unknown(entry, in: key, known: Self.renditionOptions.map(\.key))
                continue
            }
            let place = "\(key).\(entry.key)"
            if given[option.name] != nil { fault(entry.mark, place, "It is given twice, in two ways.") }
            given[option.name] = values(of: option, entry.node, place)?.first
        }
        if given.isEmpty { return nil }
        return Self.renditionOptions.compactMap { option in given[option.name].map { "\(option.name)=\($0)" } }
            .joined(separator: ",")
    }
}

// Converts scenes, which have names, to the equivalent flags.
extension ConfigurationReader {
    /// Reads `scenes`: a mapping of names to layouts.
    private mutating func readScenes(_ node: ConfigurationNode, _ key: String) -> [ChannelFlags.Flag]? {
        let entries = mapping(node, key, "It is a mapping, a scene behind each name.") ?? []
        return entries.compactMap { entry in
            sceneLayout(entry.node, "\(key).\(entry.key)", overlays: { $0.list($1, $2) }).map {
                .named(
                    entry.key, "--scene=\(entry.key)=\(NamedScene.text(of: $0))", path: "scenes", entry.node.mark)
            }
        }
    }
}

// Converts overlays and stingers, which have names, to the equivalent flags.
extension ConfigurationReader {
    static let overlayKeys = ["image", "text", "x", "y", "width", "height", "opacity", "visible", "color", "font"]
    static let stingerKeys = ["file", "cut"]

    /// Reads `overlays`: a mapping of names to overlays.
    private mutating func readOverlays(_ node: ConfigurationNode, _ key: String) -> [ChannelFlags.Flag]? {
        let entries = mapping(node, key, "It is a mapping, an overlay behind each name.") ?? []
        return entries.compactMap { entry in
            readOverlay(entry.node, "\(key).\(entry.key)").map {
                .named(entry.key, "--overlay=\(entry.key)=\($0)", path: "overlays", entry.node.mark)
            }
        }
    }

    private mutating func readOverlay(_ node: ConfigurationNode, _ key: String) -> String? {
        var contents: [String] = []
        var options: [String] = []
        for entry in mapping(node, key, "It is a mapping with image: or text:.") ?? [] {
            let place = "\(key).\(entry.key)"
            switch entry.key {
            case "image", "text": contents += scalar(entry.node, place).map { ["\(entry.key):\($0)"] } ?? []
            case "visible": options += truth(entry.node, place).map { ["visible=\($0 ? "yes" : "no")"] } ?? []
            case _ where Self.overlayKeys.contains(entry.key):
                options += scalar(entry.node, place).map { [option(entry.key, $0)] } ?? []
            default: unknown(entry, in: key, known: Self.overlayKeys)
            }
        }
        guard contents.count == 1 else {
            fault(node.mark, key, "It has image: or text:, one of them.")
            return nil
        }
        return contents[0] + (options.isEmpty ? "" : "#" + options.joined(separator: ","))
    }

    /// Reads `stingers`: a mapping of names to files.
    private mutating func readStingers(_ node: ConfigurationNode, _ key: String) -> [ChannelFlags.Flag]? {
        let entries = mapping(node, key, "It is a mapping, a file and its cut behind each name.") ?? []
        return entries.compactMap { entry in
            readStinger(entry.node, "\(key).\(entry.key)").map {
                .named(entry.key, "--stinger=\(entry.key)=\($0)", path: "stingers", entry.node.mark)
            }
        }
    }

    private mutating func readStinger(_ node: ConfigurationNode, _ key: String) -> String? {
        var (file, cut): (String?, String?)
        for entry in mapping(node, key, "It is a mapping with file: and cut:.") ?? [] {
            let place = "\(key).\(entry.key)"
            switch entry.key {
            case "file": file = scalar(entry.node, place)
            case "cut": cut = scalar(entry.node, place)
            default: unknown(entry, in: key, known: Self.stingerKeys)
            }
        }
        guard let file, let cut else {
            fault(node.mark, key, "It has a file: and a cut:, in seconds.")
            return nil
        }
        return "\(file)#\(option("cut", cut))"
    }

    private func option(_ name: String, _ value: String) -> String { "\(name)=\(value.replacing(",", with: "%2C"))" }
}
