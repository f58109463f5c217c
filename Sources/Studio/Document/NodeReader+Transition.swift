// SPDX-License-Identifier: Apache-2.0

package import Kernels
internal import Media
internal import Program

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
        _ node: ConfigurationNode, _ key: String,
        kind: (inout Self, ConfigurationNode, String) -> Transition.Kind?,
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
