// SPDX-License-Identifier: Apache-2.0

internal import Networking
internal import Studio

// Converts renditions, which have names, to the equivalent flags.
extension ConfigurationReader {
    /// The keys of a rendition. The names of the flag's options are accepted as well.
    static let renditionOptions: [AddressOption] = [
        .init("videoBitrate", "video-bitrate"), .init("gop", "gop", .time), .init("size", "size"),
        .init("preset", "preset"), .init("tune", "tune"), .init("profile", "profile"), .init("bFrames", "bframes"),
        .init("audioBitrate", "audio-bitrate"),
    ]

    /// Reads `renditions`: a mapping of names to encoder settings.
    mutating func readRenditions(
        _ node: ConfigurationNode, _ key: String
    ) -> [ChannelFlags.Flag]? {
        let entries = mapping(node, key, "It is a mapping, a rendition behind each name.") ?? []
        // The order of renditions has no meaning. They are sorted, so that another order in the file does not count as
        // a change.
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
