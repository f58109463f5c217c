// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Kernels
internal import Media
internal import Program
internal import Stitcher
internal import Studio

/// Reads a project: a list of clips in YAML, with the same keys as files in a run-down. Each error is stored with its
/// position, and reading continues, so that all errors are reported at once.
struct StitchProject: NodeReader {
    static let keys = ["name", "transition", "segments"]
    static let segmentKeys = ["name", "file", "in", "out", "duration", "transition", "audioOffset"]
    /// All words that are keys in a project.
    static let words = Set(keys + segmentKeys + transitionKeys)
    static let mostSegments = 1000

    var faults: [ConfigurationFailure.Fault] = []
    private let path: String
    private var directory: URL { URL(fileURLWithPath: path).deletingLastPathComponent() }
    private var transition: StitchTransition?

    /// Whether the file at `path` has the name of a project.
    static func isProject(_ path: String) -> Bool {
        [".yaml", ".yml", ".json"].contains { path.lowercased().hasSuffix($0) }
    }

    /// Reads the clips of the project at `path`. `transition` is for clips if neither they nor the project name a
    /// transition. Blocks on the disk. Throws all errors in the project at once.
    static func read(_ path: String, transition: StitchTransition?) throws(ConfigurationFailure) -> [StitchClip] {
        let text = try ConfigurationNode.text(at: path)
        var reader = StitchProject(path: path, transition: transition)
        let clips = reader.read(try ConfigurationNode(parsing: text, path: path, words: words))
        guard reader.faults.isEmpty else {
            let first = ConfigurationMark(line: 0, column: 0)
            throw ConfigurationFailure(
                path: path, faults: reader.faults.sorted { ($0.mark ?? first) < ($1.mark ?? first) })
        }
        return clips
    }

    private init(path: String, transition: StitchTransition?) {
        (self.path, self.transition) = (path, transition)
    }

    private mutating func read(_ root: ConfigurationNode) -> [StitchClip] {
        var segments: ConfigurationNode?
        for entry in mapping(root, "", "It is a mapping with segments: and, if needed, transition:.") ?? [] {
            switch entry.key {
            case "name": _ = scalar(entry.node, "name")
            case "transition": transition = readTransition(entry.node, "transition")
            case "segments": segments = entry.node
            default: unknown(entry, in: "", known: Self.keys)
            }
        }
        guard let segments else {
            if faults.isEmpty { fault(root.mark, "segments", "There is no segment: name at least one.") }
            return []
        }
        guard case .sequence(let nodes) = segments.content, (1...Self.mostSegments).contains(nodes.count) else {
            fault(
                segments.mark, "segments",
                "It is a list, one segment behind each hyphen, of 1 to \(Self.mostSegments) segments.")
            return []
        }
        return nodes.enumerated().compactMap { readSegment($1, "segments[\($0)]") }
    }

    private mutating func readSegment(_ node: ConfigurationNode, _ key: String) -> StitchClip? {
        let before = faults.count
        var clip = StitchClip(path: "")
        clip.transition = transition
        var (length, end): (Duration?, ConfigurationMark?)
        for entry in mapping(node, key, "It is a mapping with file:.") ?? [] {
            let place = "\(key).\(entry.key)"
            switch entry.key {
            case "name": clip.title = scalar(entry.node, place)
            case "file":
                clip.path = readFile(entry.node, place) ?? ""
                clip.origin = "\(path):\(entry.node.mark.line):\(entry.node.mark.column)"
            case "in": clip.from = readTime(entry.node, place)
            case "out": (clip.to, end) = (readTime(entry.node, place), end ?? entry.node.mark)
            case "duration": (length, end) = (readLength(entry.node, place), end ?? entry.node.mark)
            case "transition": clip.transition = readTransition(entry.node, place)
            case "audioOffset": clip.audioOffset = readOffset(entry.node, place) ?? .zero
            default: unknown(entry, in: key, known: Self.segmentKeys)
            }
        }
        guard faults.count == before else { return nil }
        if clip.path.isEmpty {
            fault(node.mark, key, "It has no file.")
        } else if clip.to != nil, length != nil {
            fault(end, key, "There are duration and out: leave one of them out.")
        } else if let length {
            clip.to = (clip.from ?? .zero) + length
        }
        if let to = clip.to, (clip.from ?? .zero) >= to { fault(end, key, "It ends before it begins.") }
        return faults.count == before ? clip : nil
    }

    private mutating func readFile(_ node: ConfigurationNode, _ key: String) -> String? {
        guard let name = scalar(node, key) else { return nil }
        let path = name.hasPrefix("/") ? name : directory.appendingPathComponent(name).path
        if Self.isProject(name) {
            fault(node.mark, key, "It is a project, and not a video: a project cannot be a part of another.")
        } else if !FileManager.default.isReadableFile(atPath: path) {
            fault(node.mark, key, "There is no such file, or it cannot be read.")
        } else {
            return path
        }
        return nil
    }
}

// MARK: Values

extension StitchProject {
    private mutating func readLength(_ node: ConfigurationNode, _ key: String) -> Duration? {
        if case .scalar("end", _) = node.content { return nil }
        return readTime(node, key)
    }

    private mutating func readOffset(_ node: ConfigurationNode, _ key: String) -> Duration? {
        guard let text = time(node, key) else { return nil }
        let isNegative = text.hasPrefix("-")
        let digits = String(text.dropFirst(isNegative ? 1 : 0))
        if let length = try? DurationText(parsing: digits).duration, length <= .seconds(60) {
            return isNegative ? .zero - length : length
        }
        fault(node.mark, key, "It is a length of time of at most 60s, such as 40ms or -0.1.")
        return nil
    }

    private mutating func readTransition(_ node: ConfigurationNode, _ key: String) -> StitchTransition? {
        let found = transition(
            node, key, kind: { $0.choice($1, $2, of: Transition.Kind.self) }, length: { $0.readTime($1, $2) })
        return found.map {
            StitchTransition(Transition($0.kind, easing: $0.easing), duration: $0.duration, color: $0.color)
        }
    }
}
