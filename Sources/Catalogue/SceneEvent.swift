// SPDX-License-Identifier: Apache-2.0

/// What came on air in a program of several sources, as an event of the catalogue tells it.
public struct SceneEvent: Sendable, Equatable {
    /// The kind of such an event.
    public static let kind = "scene"

    /// The scene's name, if it has one.
    public var name: String?
    /// How its sources are laid out.
    public var layout: String
    /// The sources that are seen, the main one first.
    public var sources: [String]
    /// The first frame of the program that shows something of it.
    public var frame: Int64
    /// How it came.
    public var transition: String

    /// An event.
    public init(name: String?, layout: String, sources: [String], frame: Int64, transition: String) {
        (self.name, self.layout, self.sources) = (name, layout, sources)
        (self.frame, self.transition) = (frame, transition)
    }

    /// Such as `duo: pip cam1 cam2 from frame 120 (fade)`.
    public var text: String {
        let scene = ([layout] + sources).joined(separator: " ")
        return "\(name.map { $0 + ": " } ?? "")\(scene) from frame \(frame) (\(transition))"
    }

    /// Reads ``text``; nil if it is something else.
    public init?(text: String) {
        guard let match = text.wholeMatch(of: /(?:([^ :]+): )?([^ ]+)((?: [^ ]+)*) from frame (\d+) \(([a-z-]+)\)/),
            let frame = Int64(match.output.4)
        else { return nil }
        self.init(
            name: match.output.1.map(String.init), layout: String(match.output.2),
            sources: match.output.3.split(separator: " ").map(String.init), frame: frame,
            transition: String(match.output.5))
    }

    /// Whether it is the scene `name`, or shows the source of that name.
    public func shows(_ name: String) -> Bool { self.name == name || sources.contains(name) }
}
