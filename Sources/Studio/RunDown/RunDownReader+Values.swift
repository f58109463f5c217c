// SPDX-License-Identifier: Apache-2.0

internal import Kernels
internal import Media
internal import Program

extension RunDownReader {
    private static let longestName = 200

    mutating func name(_ node: ConfigurationNode, _ key: String) -> String? {
        guard let text = scalar(node, key) else { return nil }
        guard text.count <= Self.longestName, !text.contains(where: \.isNewline) else {
            fault(node.mark, key, "It is one line of at most \(Self.longestName) letters.")
            return nil
        }
        return text
    }

    mutating func number(_ node: ConfigurationNode, _ key: String) -> Int64? {
        guard let text = scalar(node, key) else { return nil }
        guard case .scalar(_, isPlain: true) = node.content, let number = Int64(text), number >= 0 else {
            fault(node.mark, key, "It is a whole number, 0 or more.")
            return nil
        }
        return number
    }

    mutating func duration(_ node: ConfigurationNode, _ key: String) -> Duration? {
        guard let duration = readTime(node, key) else { return nil }
        if duration <= RunDown.longest { return duration }
        fault(node.mark, key, "It is at most \(DurationText(RunDown.longest)).")
        return nil
    }

    mutating func readLength(_ node: ConfigurationNode, _ key: String) -> RunDown.Length? {
        if case .scalar("end", _) = node.content { return .end }
        if case .scalar("take", _) = node.content { return .take }
        if case .scalar(let text, _) = node.content, text.first?.isLetter == true {
            wrong(node, key, text, known: ["a time", "end", "take"])
            return nil
        }
        return duration(node, key).map { .time($0) }
    }

    mutating func readAudio(_ node: ConfigurationNode, _ key: String) -> RunDown.Audio? {
        switch scalar(node, key) {
        case nil: return nil
        case "follow": return .follow
        case "mix": return .mix
        case let name?:
            let heard = known.sources + known.unseen
            if heard.contains(name) || name == RunDown.clipName { return .source(name) }
            wrong(node, key, name, known: ["follow", "mix"] + heard)
            return nil
        }
    }

    mutating func readChange(_ node: ConfigurationNode, _ key: String) -> RunDown.Change? {
        if case .mapping(let entries) = node.content, entries.contains(where: Self.isStinger) {
            return readStinger(entries, node, key)
        }
        return transition(node, key, kind: { $0.readKind($1, $2) }, length: { $0.duration($1, $2) }).map {
            RunDown.Change($0.kind, $0.duration, easing: $0.easing, color: $0.color)
        }
    }

    private mutating func readKind(_ node: ConfigurationNode, _ key: String) -> Transition.Kind? {
        guard let word = scalar(node, key) else { return nil }
        if let kind = Transition.Kind(word: word) { return kind }
        if word == TransitionName.stingerType {
            fault(node.mark, key, "A stinger is named: {type: stinger, name: NAME}.")
            return nil
        }
        wrong(node, key, word, known: Transition.Kind.allCases.map(\.rawValue))
        return nil
    }
}

// MARK: Stingers

extension RunDownReader {
    private static func isStinger(_ entry: ConfigurationNode.Entry) -> Bool {
        guard entry.key == "type", case .scalar(TransitionName.stingerType, _) = entry.node.content else {
            return false
        }
        return true
    }

    private mutating func readStinger(
        _ entries: [ConfigurationNode.Entry], _ node: ConfigurationNode, _ key: String
    ) -> RunDown.Change? {
        var name: String?
        let before = faults.count
        for entry in entries {
            let place = "\(key).\(entry.key)"
            switch entry.key {
            case "type": break
            case "name": name = readStingerName(entry.node, place)
            case "seconds", "easing", "color":
                fault(entry.node.mark, place, "A stinger is as its file is: leave it out.")
            default: unknown(entry, in: key, known: ["type", "name"])
            }
        }
        if name == nil, faults.count == before { fault(node.mark, key, "It has no name: which stinger is it?") }
        return name.map { RunDown.Change(stinger: $0) }
    }

    private mutating func readStingerName(_ node: ConfigurationNode, _ key: String) -> String? {
        guard let name = scalar(node, key) else { return nil }
        if known.stingers.contains(name) { return name }
        let there = known.stingers.isEmpty ? "is none" : "are \(known.stingers.joined(separator: ", "))"
        fault(node.mark, key, "There is no stinger \(name). There \(there).")
        return nil
    }
}

// MARK: Views

extension RunDownReader {
    mutating func readSource(_ node: ConfigurationNode, _ key: String) -> String? {
        guard let name = scalar(node, key) else { return nil }
        if known.sources.contains(name) { return name }
        if noteUnseen(name, node, key) { return nil }
        let near = EditDistance.nearest(to: name, among: known.sources).map { "; is \($0) meant?" } ?? "."
        let text = "There is no source \(name)\(near) There are \(known.sources.joined(separator: ", "))."
        fault(node.mark, key, known.sources.isEmpty ? "The program has no sources but the files." : text)
        return nil
    }

    /// Records an error if `name` is a source without video, and returns whether it is.
    private mutating func noteUnseen(_ name: String, _ node: ConfigurationNode, _ key: String) -> Bool {
        guard known.unseen.contains(name) else { return false }
        fault(node.mark, key, "The source \(name) has no video.")
        return true
    }

    mutating func readFile(_ node: ConfigurationNode, _ key: String) -> String? {
        guard let path = scalar(node, key) else { return nil }
        do throws(RunDownFiles.Fault) {
            return try files.resolve(path)
        } catch {
            fault(node.mark, key, error.description)
            return nil
        }
    }

    mutating func readViews(_ node: ConfigurationNode, _ key: String) -> [RunDown.View]? {
        guard case .sequence(let nodes) = node.content, (2...RunDown.mostViews).contains(nodes.count) else {
            fault(node.mark, key, "It is a list of 2 to \(RunDown.mostViews) scenes.")
            return nil
        }
        return nodes.enumerated().compactMap { readView($1, "\(key)[\($0)]") }
    }

    /// Reads a scene, given by its name or by its layout.
    mutating func readView(_ node: ConfigurationNode, _ key: String) -> RunDown.View? {
        if case .mapping = node.content { return readLayout(node, key) }
        guard let name = scalar(node, key, orElse: "It is a scene's name, or a mapping with layout: and sources:.")
        else {
            return nil
        }
        if let scene = known.scenes.first(where: { $0.name == name }) {
            return RunDown.View(scene.layout, name: name)
        }
        if name == SceneLayout.Kind.slate.rawValue { return RunDown.View(SceneLayout(.slate, []), name: name) }
        if known.sources.contains(name) || name == RunDown.clipName {
            return RunDown.View(SceneLayout(.single, [name]), name: name)
        }
        if noteUnseen(name, node, key) { return nil }
        let near = EditDistance.nearest(to: name, among: known.names).map { "; is \($0) meant?" } ?? "."
        fault(node.mark, key, "There is no scene \(name)\(near) There are \(known.names.joined(separator: ", ")).")
        return nil
    }

    private mutating func readLayout(_ node: ConfigurationNode, _ key: String) -> RunDown.View? {
        sceneLayout(node, key, overlays: { $0.readOverlays($1, $2) }).map { layout in
            RunDown.View(layout, name: ([layout.layout.rawValue] + layout.sources).joined(separator: " "))
        }
    }

    private mutating func readOverlays(_ node: ConfigurationNode, _ key: String) -> [String] {
        let names = list(node, key)
        if let unknown = names.first(where: { !known.overlays.contains($0) }) {
            let there = known.overlays.isEmpty ? "is none" : "are \(known.overlays.joined(separator: ", "))"
            fault(node.mark, key, "There is no overlay \(unknown). There \(there).")
        }
        return names
    }
}
