// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Media
package import Program

/// Reads a run-down in YAML, of which JSON is a subset. Each error is stored with its position, and reading continues,
/// so that all errors are reported at once.
package struct RunDownReader: NodeReader {
    /// The names that a run-down is allowed to use.
    package struct Known {
        /// Sources with video and audio.
        let sources: [String]
        /// Sources with audio only.
        var unseen: [String] = []
        let scenes: [(name: String, layout: SceneLayout)]
        var overlays: [String] = []
        var stingers: [String] = []

        /// Creates the set of names that a run-down is allowed to use.
        package init(
            sources: [String], unseen: [String] = [], scenes: [(name: String, layout: SceneLayout)],
            overlays: [String] = [], stingers: [String] = []
        ) {
            (self.sources, self.unseen, self.scenes, self.overlays) = (sources, unseen, scenes, overlays)
            self.stingers = stingers
        }

        /// All names from which a scene can be made, except ``RunDown/clipName``.
        var names: [String] { scenes.map(\.name) + sources + [SceneLayout.Kind.slate.rawValue] }
    }

    package static let keys = ["name", "loop", "seed", "audio", "transition", "segments"]
    package static let segmentKeys = [
        "name", "source", "scene", "switch", "every", "order", "file", "in", "duration", "frames", "transition",
        "audio",
    ]
    /// All words that can be keys in a run-down.
    static let words = Set(keys + segmentKeys + transitionKeys + SceneLayout.keys + SceneLayout.Inset.keys)

    let known: Known
    let files: RunDownFiles
    /// The path of the run-down, for messages.
    private let path: String
    package var faults: [ConfigurationFailure.Fault] = []
    private var audio = RunDown.Audio.standard
    private var change = RunDown.Change.cut

    private init(path: String, known: Known, files: RunDownFiles) {
        (self.path, self.known, self.files) = (path, known, files)
    }

    /// Parses `text`, the run-down with the name `name`. Blocks on the disk, because each of the run-down's files is
    /// checked. Throws all errors.
    static func read(
        _ text: String, name: String, known: Known, files: RunDownFiles
    ) throws(ConfigurationFailure) -> RunDown {
        var reader = RunDownReader(path: name, known: known, files: files)
        let runDown = reader.read(try ConfigurationNode(parsing: text, path: name, words: words), name)
        guard reader.faults.isEmpty else {
            let first = ConfigurationMark(line: 0, column: 0)
            throw ConfigurationFailure(
                path: name, faults: reader.faults.sorted { ($0.mark ?? first) < ($1.mark ?? first) })
        }
        return runDown
    }

    /// Reads the run-down at `path`, and returns it with its directory. If `path` is a directory, the run-down is nil.
    /// Blocks on the disk.
    package static func read(
        at path: String, known: Known
    ) throws(ConfigurationFailure) -> (runDown: RunDown?, directory: String) {
        var isDirectory: ObjCBool = false
        if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), isDirectory.boolValue {
            return (nil, path)
        }
        let url = URL(fileURLWithPath: path)
        let directory = url.deletingLastPathComponent().path
        let text = try ConfigurationNode.text(at: path)
        let runDown = try read(text, name: path, known: known, files: RunDownFiles(directory: directory))
        return (runDown, directory)
    }

    private mutating func read(_ root: ConfigurationNode, _ name: String) -> RunDown {
        var runDown = RunDown(name: name, [])
        let entries = mapping(root, "", "It is a mapping with segments: and, if needed, loop: and more.") ?? []
        var segments: ConfigurationNode?
        for entry in entries {
            switch entry.key {
            case "name": runDown.name = self.name(entry.node, "name") ?? name
            case "loop": runDown.loops = truth(entry.node, "loop") ?? false
            case "seed": runDown.seed = number(entry.node, "seed").map { UInt64($0) } ?? 0
            case "audio": audio = readAudio(entry.node, "audio") ?? .standard
            case "transition": change = readChange(entry.node, "transition") ?? .cut
            case "segments": segments = entry.node
            default: unknown(entry, in: "", known: Self.keys)
            }
        }
        // Segments are read last, because they depend on the other keys, which can be written after them.
        if let segments {
            runDown.segments = readSegments(segments)
        } else if faults.isEmpty {
            fault(root.mark, "segments", "There is no segment: name at least one.")
        }
        return runDown
    }

    private mutating func readSegments(_ node: ConfigurationNode) -> [RunDown.Segment] {
        guard case .sequence(let nodes) = node.content, (1...RunDown.mostSegments).contains(nodes.count) else {
            fault(
                node.mark, "segments",
                "It is a list, one segment behind each hyphen, of 1 to \(RunDown.mostSegments) segments.")
            return []
        }
        return nodes.enumerated().compactMap { readSegment($1, "segments[\($0)]", number: $0 + 1) }
    }
}

// MARK: A segment

extension RunDownReader {
    /// The values of a segment, and their positions in the file.
    private struct Said {
        var marks: [String: ConfigurationMark] = [:]
        var name: String?
        var source: String?
        var views: [RunDown.View]?
        var every: Duration?
        var order: RunDown.Order?
        var file: String?
        var start: Duration?
        var length: RunDown.Length?
        var change: RunDown.Change?
        var audio: RunDown.Audio?
    }

    private mutating func readSegment(_ node: ConfigurationNode, _ key: String, number: Int) -> RunDown.Segment? {
        let before = faults.count
        var said = Said()
        for entry in mapping(node, key, "It is a mapping with source:, scene:, switch: or file:.") ?? [] {
            said.marks[entry.key] = entry.node.mark
            read(entry, key, into: &said)
        }
        guard faults.count == before else { return nil }
        contradictions(said, node, key)
        guard faults.count == before else { return nil }
        let views =
            said.views ?? [
                RunDown.View(
                    SceneLayout(.single, [said.source ?? RunDown.clipName]),
                    name: said.source ?? said.file?.split(separator: "/").last.map(String.init) ?? "")
            ]
        let length = said.length ?? (said.file == nil ? .take : .end)
        var clip = said.file.map { RunDown.Clip($0, start: said.start ?? .zero) }
        clip?.stands = length != .end
        var segment = RunDown.Segment(
            name: said.name ?? (views.count == 1 ? views[0].name : "segment \(number)"), views: views, clip: clip,
            length: length)
        (segment.every, segment.order) = (said.every, said.order ?? .listed)
        (segment.change, segment.audio) = (said.change ?? change, said.audio ?? audio)
        if segment.change.stinger != nil {
            let mark = said.marks["transition"] ?? node.mark
            segment.stingerPlace = "\(path):\(mark.line):\(mark.column): \(key).transition"
        }
        guard let found = segment.fault(sources: known.sources, unseen: known.unseen) else { return segment }
        let stands = ["scene": ["switch", "source", "file"], "duration": ["frames"], "every": ["switch"]]
        let others = stands[found.key] ?? []
        let name = ([found.key] + others).first { said.marks[$0] != nil }
        fault(name.flatMap { said.marks[$0] } ?? node.mark, name.map { "\(key).\($0)" } ?? key, found.text)
        return nil
    }

    private mutating func read(_ entry: ConfigurationNode.Entry, _ key: String, into said: inout Said) {
        let place = "\(key).\(entry.key)"
        switch entry.key {
        case "name": said.name = name(entry.node, place)
        case "source": said.source = readSource(entry.node, place)
        case "scene": said.views = readView(entry.node, place).map { [$0] }
        case "switch": said.views = readViews(entry.node, place)
        case "every": said.every = duration(entry.node, place)
        case "order": said.order = choice(entry.node, place, of: RunDown.Order.self)
        case "file": said.file = readFile(entry.node, place)
        case "in": said.start = duration(entry.node, place)
        case "duration": said.length = readLength(entry.node, place)
        case "frames": said.length = number(entry.node, place).map { .frames($0) }
        case "transition": said.change = readChange(entry.node, place)
        case "audio": said.audio = readAudio(entry.node, place)
        default: unknown(entry, in: key, known: Self.segmentKeys)
        }
    }

    private mutating func contradictions(_ said: Said, _ node: ConfigurationNode, _ key: String) {
        let shown = ["source", "scene", "switch"].filter { said.marks[$0] != nil }
        if shown.count > 1 {
            fault(said.marks[shown[1]], "\(key).\(shown[1])", "There is \(shown[0]), too: leave one of them out.")
        } else if shown.isEmpty, said.file == nil {
            fault(node.mark, key, "It shows nothing: give source:, scene:, switch: or file:.")
        }
        if shown.first == "source", said.file != nil {
            fault(said.marks["source"], "\(key).source", "There is file, too: a scene can show both.")
        }
        if said.start != nil, said.file == nil {
            fault(said.marks["in"], "\(key).in", "It is for a file: a source is where it is.")
        }
        for word in ["every", "order"] where said.marks[word] != nil && said.marks["switch"] == nil {
            fault(said.marks[word], "\(key).\(word)", "It is for switch.")
        }
        if said.marks["duration"] != nil, said.marks["frames"] != nil {
            fault(said.marks["frames"], "\(key).frames", "There is duration, too: leave one of them out.")
        }
    }
}
