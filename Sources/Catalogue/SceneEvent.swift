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
    /// How long that took, in seconds; nil where nothing says so.
    public var seconds: Double?
    /// What the layout says beside that, such as `width=0.25`.
    public var details: [String] = []

    /// An event.
    public init(
        name: String?, layout: String, sources: [String], frame: Int64, transition: String, seconds: Double? = nil,
        details: [String] = []
    ) {
        (self.name, self.layout, self.sources, self.details) = (name, layout, sources, details)
        (self.frame, self.transition, self.seconds) = (frame, transition, seconds)
    }

    /// Such as `duo: pip cam1 cam2 width=0.3 from frame 120 (fade 0.5 s)`.
    public var text: String {
        let scene = ([layout] + sources + details).joined(separator: " ")
        let length = seconds.map { " \($0) s" } ?? ""
        return "\(name.map { $0 + ": " } ?? "")\(scene) from frame \(frame) (\(transition)\(length))"
    }

    /// Reads ``text``; nil if it is something else.
    public init?(text: String) {
        let form = /(?:([^ :]+): )?([^ ]+)((?: [^ ]+)*) from frame (\d+) \(([a-z-]+)(?: ([\d.]+) s)?\)/
        guard let match = text.wholeMatch(of: form), let frame = Int64(match.output.4) else { return nil }
        let words = match.output.3.split(separator: " ").map(String.init)
        self.init(
            name: match.output.1.map(String.init), layout: String(match.output.2),
            sources: words.filter { !$0.contains("=") }, frame: frame, transition: String(match.output.5),
            seconds: match.output.6.flatMap { Double($0) }, details: words.filter { $0.contains("=") })
    }

    /// Whether it is the scene `name`, or shows the source of that name.
    public func shows(_ name: String) -> Bool { self.name == name || sources.contains(name) }
}
