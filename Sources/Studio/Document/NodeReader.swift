// SPDX-License-Identifier: Apache-2.0

package import Kernels
internal import Media
package import Program

/// Reads values from a tree of ``ConfigurationNode``. Each error is stored with its position, and reading continues, so
/// that all errors are reported at once.
package protocol NodeReader {
    var faults: [ConfigurationFailure.Fault] { get set }
}

extension NodeReader {
    package mutating func fault(_ mark: ConfigurationMark?, _ key: String, _ text: String) {
        faults.append(.init(mark: mark, key: key, text: text))
    }

    package mutating func mapping(
        _ node: ConfigurationNode, _ key: String, _ advice: String
    ) -> [ConfigurationNode.Entry]? {
        if case .mapping(let entries) = node.content { return entries }
        fault(node.mark, key, advice)
        return nil
    }

    package mutating func scalar(
        _ node: ConfigurationNode, _ key: String, orElse advice: String = "It is one value, not a list or a mapping."
    ) -> String? {
        guard case .scalar(let text, let isPlain) = node.content else {
            fault(node.mark, key, advice)
            return nil
        }
        guard !text.isEmpty, !isPlain || !["null", "~", "Null", "NULL"].contains(text) else {
            fault(node.mark, key, "It has no value.")
            return nil
        }
        return text
    }

    package mutating func time(_ node: ConfigurationNode, _ key: String) -> String? {
        guard let text = scalar(node, key) else { return nil }
        guard case .scalar(_, isPlain: true) = node.content, let seconds = Double(text), seconds.isFinite else {
            return text
        }
        return text + "s"
    }

    package mutating func truth(_ node: ConfigurationNode, _ key: String) -> Bool? {
        if case .scalar(let text, isPlain: true) = node.content {
            if text == "true" { return true }
            if text == "false" { return false }
        }
        fault(node.mark, key, "It is true or false.")
        return nil
    }

    package mutating func unknown(_ entry: ConfigurationNode.Entry, in section: String, known: [String]) {
        // An unknown key can be a part of an address, and therefore a secret. The message repeats the key only if it is
        // almost a known key.
        guard let near = EditDistance.nearest(to: entry.key, among: known), entry.key.allSatisfy(\.isLetter) else {
            let advice = known.contains("address") ? " Does it lack address: in front of it, or quotation marks?" : ""
            return fault(entry.mark, section, "There is no such key.\(advice)")
        }
        let key = section.isEmpty ? entry.key : "\(section).\(entry.key)"
        fault(entry.mark, key, "There is no such key; is \(near) meant?")
    }

    /// Joins the allowed words for a value into a text such as `a, b or c`.
    package static func either(_ words: [String]) -> String {
        words.count < 2
            ? words.joined() : words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
    }
}

/// Readers of values that both run-downs and projects of clips contain.
extension NodeReader {
    /// The keys of a transition.
    package static var transitionKeys: [String] { ["type", "seconds", "easing", "color"] }

    mutating func wrong(_ node: ConfigurationNode, _ key: String, _ text: String, known: [String]) {
        let near = EditDistance.nearest(to: text, among: known).map { "; is \($0) meant?" } ?? "."
        fault(node.mark, key, "It is \(Self.either(known))\(near)")
    }

    package mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ node: ConfigurationNode, _ key: String, of type: Choice.Type
    ) -> Choice? {
        guard let text = scalar(node, key) else { return nil }
        if let choice = Choice(rawValue: text) { return choice }
        wrong(node, key, text, known: Choice.allCases.map(\.rawValue))
        return nil
    }

    package mutating func readTime(_ node: ConfigurationNode, _ key: String) -> Duration? {
        guard let text = time(node, key) else { return nil }
        if let duration = try? DurationText(parsing: text).duration { return duration }
        fault(node.mark, key, "It is a length of time, such as 10s, 1m30s or 2.5.")
        return nil
    }

    /// Reads a transition: either a type alone, or a mapping with a type, a length (read by `length`), an easing and,
    /// if the transition shows one, a color. `kind` reads the type.
    package mutating func transition(
        _ node: ConfigurationNode, _ key: String, kind: (inout Self, ConfigurationNode, String) -> Transition.Kind?,
        length: (inout Self, ConfigurationNode, String) -> Duration?
    ) -> (kind: Transition.Kind, duration: Duration, easing: Easing, color: RGBColor?)? {
        guard case .mapping(let entries) = node.content else {
            return kind(&self, node, key).map { ($0, .seconds(1), .linear, nil) }
        }
        var (type, seconds, easing): (Transition.Kind?, Duration?, Easing?)
        var color: (value: RGBColor?, mark: ConfigurationMark)?
        let before = faults.count
        for entry in entries {
            let place = "\(key).\(entry.key)"
            switch entry.key {
            case "type": type = kind(&self, entry.node, place)
            case "seconds": seconds = length(&self, entry.node, place)
            case "easing": easing = choice(entry.node, place, of: Easing.self)
            case "color": color = (readColor(entry.node, place), entry.node.mark)
            default: unknown(entry, in: key, known: Self.transitionKeys)
            }
        }
        guard let type else {
            if faults.count == before { fault(node.mark, key, "It has no type.") }
            return nil
        }
        if let color, !type.hasColor {
            fault(color.mark, "\(key).color", "It is for dip and flip, not for \(type.rawValue).")
        }
        return (type, seconds ?? .seconds(1), easing ?? .linear, color?.value)
    }

    private mutating func readColor(_ node: ConfigurationNode, _ key: String) -> RGBColor? {
        guard let text = scalar(node, key) else { return nil }
        if let color = RGBColor(text) { return color }
        fault(node.mark, key, "It is a color such as \"#0a64ff\", in quotes, black or white.")
        return nil
    }
}

/// Readers of scenes, which both configuration files and run-downs contain.
extension NodeReader {
    /// Reads a scene, which is a mapping, and checks everything but the names in it. `overlays` reads the names of the
    /// overlays.
    package mutating func sceneLayout(
        _ node: ConfigurationNode, _ key: String, overlays: (inout Self, ConfigurationNode, String) -> [String]
    ) -> SceneLayout? {
        var (kind, sources): (SceneLayout.Kind?, [String]) = (nil, [])
        var (inset, fit, names): (SceneLayout.Inset?, SceneLayout.Fit?, [String]?)
        let before = faults.count
        for entry in mapping(node, key, "It is a mapping with layout: and sources:.") ?? [] {
            let place = "\(key).\(entry.key)"
            switch entry.key {
            case "layout": kind = choice(entry.node, place, of: SceneLayout.Kind.self)
            case "sources": sources = list(entry.node, place)
            case "fit": fit = choice(entry.node, place, of: SceneLayout.Fit.self)
            case "inset": inset = readInset(entry.node, place)
            case "overlays": names = overlays(&self, entry.node, place)
            default: unknown(entry, in: key, known: SceneLayout.keys)
            }
        }
        guard faults.count == before else { return nil }
        guard let kind else {
            fault(node.mark, key, "It has no layout.")
            return nil
        }
        let layout = SceneLayout(kind, sources, inset: inset, fit: fit, overlays: names)
        do throws(SceneLayout.Fault) {
            try layout.check()
            return layout
        } catch {
            fault(node.mark, key, error.description)
            return nil
        }
    }

    private mutating func readInset(_ node: ConfigurationNode, _ key: String) -> SceneLayout.Inset? {
        var corner: SceneLayout.Corner?
        var (x, y, width): (Double?, Double?, Double?)
        for entry in mapping(node, key, "It is a mapping with corner: or x: and y:, and width:.") ?? [] {
            let place = "\(key).\(entry.key)"
            switch entry.key {
            case "corner": corner = choice(entry.node, place, of: SceneLayout.Corner.self)
            case "x": x = fraction(entry.node, place)
            case "y": y = fraction(entry.node, place)
            case "width": width = fraction(entry.node, place)
            default: unknown(entry, in: key, known: SceneLayout.Inset.keys)
            }
        }
        do throws(SceneLayout.Fault) {
            return try SceneLayout.Inset(corner: corner, x: x, y: y, width: width)
        } catch {
            fault(node.mark, key, error.description)
            return nil
        }
    }

    private mutating func fraction(_ node: ConfigurationNode, _ key: String) -> Double? {
        guard let text = scalar(node, key) else { return nil }
        if let value = Double(text), (0...1).contains(value) { return value }
        fault(node.mark, key, "It is a part of the frame, from 0 to 1.")
        return nil
    }

    /// Reads a list of names.
    package mutating func list(_ node: ConfigurationNode, _ key: String) -> [String] {
        guard case .sequence(let nodes) = node.content else {
            fault(node.mark, key, "It is a list of names.")
            return []
        }
        return nodes.enumerated().compactMap { scalar($1, "\(key)[\($0)]") }
    }
}

/// The distance between two words: how many letters must be inserted, removed, replaced or swapped with a neighbour
/// (the optimal string alignment distance).
package enum EditDistance {
    /// Returns the one of `words` that has the smallest distance to `word`; nil if this distance is greater than 1 and
    /// greater than half the length of `word`, or if there are no words. Upper and lower case count as equal.
    package static func nearest(to word: String, among words: [String]) -> String? {
        let word = word.lowercased()
        let distances = words.map { ($0, between(word, $0.lowercased())) }
        guard let (nearest, distance) = distances.min(by: { $0.1 < $1.1 }) else { return nil }
        return distance <= max(1, word.count / 2) ? nearest : nil
    }

    /// The number of changes that turn `first` into `second`. Only their first 64 characters are compared.
    static func between(_ first: String, _ second: String) -> Int {
        let (first, second) = (Array(first.prefix(64)), Array(second.prefix(64)))
        var before: [Int] = []
        var row = Array(0...second.count)
        for (i, letter) in first.enumerated() {
            var next = [i + 1]
            for (j, other) in second.enumerated() {
                var changes = min(row[j + 1] + 1, next[j] + 1, row[j] + (letter == other ? 0 : 1))
                if i > 0, j > 0, letter == second[j - 1], first[i - 1] == other {
                    changes = min(changes, before[j - 1] + 1)
                }
                next.append(changes)
            }
            (before, row) = (row, next)
        }
        return row[second.count]
    }
}
