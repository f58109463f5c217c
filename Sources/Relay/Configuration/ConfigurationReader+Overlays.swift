// SPDX-License-Identifier: Apache-2.0

internal import Studio

// Converts overlays and stingers, which have names, to the equivalent flags.
extension ConfigurationReader {
    static let overlayKeys = ["image", "text", "x", "y", "width", "height", "opacity", "visible", "color", "font"]
    static let stingerKeys = ["file", "cut"]

    /// Reads `overlays`: a mapping of names to overlays.
    mutating func readOverlays(_ node: ConfigurationNode, _ key: String) -> [ChannelFlags.Flag]? {
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
    mutating func readStingers(_ node: ConfigurationNode, _ key: String) -> [ChannelFlags.Flag]? {
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

    private func option(_ name: String, _ value: String) -> String {
        "\(name)=\(value.replacing(",", with: "%2C"))"
    }
}
