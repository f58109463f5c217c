// SPDX-License-Identifier: Apache-2.0

internal import Program
internal import Studio

// Converts scenes, which have names, to the equivalent flags.
extension ConfigurationReader {
    /// Reads `scenes`: a mapping of names to layouts.
    mutating func readScenes(_ node: ConfigurationNode, _ key: String) -> [ChannelFlags.Flag]? {
        let entries = mapping(node, key, "It is a mapping, a scene behind each name.") ?? []
        return entries.compactMap { entry in
            readScene(entry.node, "\(key).\(entry.key)").map {
                .named(entry.key, "--scene=\(entry.key)=\($0)", path: "scenes", entry.node.mark)
            }
        }
    }

    private mutating func readScene(_ node: ConfigurationNode, _ key: String) -> String? {
        var (layout, sources): (String?, [String]) = (nil, [])
        var options: [String] = []
        for entry in mapping(node, key, "It is a mapping with layout: and sources:.") ?? [] {
            let place = "\(key).\(entry.key)"
            switch entry.key {
            case "layout": layout = scalar(entry.node, place)
            case "sources": sources = list(entry.node, place)
            case "overlays": options += ["overlays=\(list(entry.node, place).joined(separator: "+"))"]
            case "fit": options += scalar(entry.node, place).map { ["fit=\($0)"] } ?? []
            case "inset":
                for inner in mapping(entry.node, place, "It is a mapping with corner: or x: and y:, and width:.") ?? []
                {
                    guard SceneLayout.Inset.keys.contains(inner.key) else {
                        unknown(inner, in: place, known: SceneLayout.Inset.keys)
                        continue
                    }
                    options += scalar(inner.node, "\(place).\(inner.key)").map { ["\(inner.key)=\($0)"] } ?? []
                }
            default: unknown(entry, in: key, known: SceneLayout.keys)
            }
        }
        guard let layout else {
            fault(node.mark, key, "It has no layout.")
            return nil
        }
        let place = options.isEmpty ? "" : "#" + options.joined(separator: ",")
        return "\(layout):\(sources.joined(separator: ","))\(place)"
    }

    private mutating func list(_ node: ConfigurationNode, _ key: String) -> [String] {
        guard case .sequence(let nodes) = node.content else {
            fault(node.mark, key, "It is a list of names.")
            return []
        }
        return nodes.enumerated().compactMap { scalar($1, "\(key)[\($0)]") }
    }
}
