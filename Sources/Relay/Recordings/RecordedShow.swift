// SPDX-License-Identifier: Apache-2.0

internal import Catalogue
internal import Foundation
internal import Media
internal import Stitcher

/// What was on air in a program of several sources, as a run-down that can be edited and rendered from the recordings of
/// the sources. Pure.
struct RecordedShow {
    /// One scene, for so many frames.
    private struct Part {
        let scene: SceneEvent
        let frames: Int64
    }

    /// The channel whose program it was.
    let channel: String
    /// Milliseconds since 1970, from the first frame to behind the last.
    let range: Range<Int64>
    /// All sources that are seen.
    let sources: [String]
    private let parts: [Part]

    /// What was on air between `limits`, in milliseconds since 1970, in the program of `channel` or of the only one.
    init(
        of segments: [CatalogueSegment], _ events: [CatalogueEvent], channel: String?, limits: Range<Int64>?
    ) throws(ClipFailure) {
        let told = try SceneChange.told(segments, events, channel: channel)
        // Whoever asks for a thousand years means the end.
        let nanoseconds = { (time: Int64) in TimeBase.milliseconds.rescale(time, to: .nanoseconds) }
        let limits = limits.map { nanoseconds($0.lowerBound)..<nanoseconds($0.upperBound) } ?? .min..<Int64.max
        var shown: [(change: SceneChange, time: Range<Int64>)] = []
        for (index, change) in told.changes.enumerated() {
            let end = min(index + 1 < told.changes.count ? told.changes[index + 1].time : .max, change.end)
            guard change.time < end else { continue }
            let time = (change.time..<end).clamped(to: limits)
            if !time.isEmpty { shown.append((change, time)) }
        }
        guard let first = shown.first, let last = shown.last else {
            throw ClipFailure("Nothing was on air in \(told.channel) then, as far as the catalogue says.")
        }
        let frame = { (time: Int64) in
            (time - first.time.lowerBound + first.change.frameDuration / 2) / first.change.frameDuration
        }
        self.channel = told.channel
        range = first.time.lowerBound / 1_000_000..<(last.time.upperBound + 999_999) / 1_000_000
        sources = Set(shown.flatMap(\.change.scene.sources)).sorted()
        // What is between two runs belongs to the scene before: the exporter fills it, too.
        let starts = shown.map { frame($0.time.lowerBound) } + [frame(last.time.upperBound)]
        parts = zip(shown, zip(starts, starts.dropFirst())).compactMap { shown, frames in
            let scene = shown.change.time < shown.time.lowerBound ? shown.change.scene.cut : shown.change.scene
            return frames.0 < frames.1 ? Part(scene: scene, frames: frames.1 - frames.0) : nil
        }
        frameDuration = first.change.frameDuration
    }

    private let frameDuration: Int64

    /// The run-down in YAML; `directory` has the recordings, and comments say how to render it.
    func text(directory: String, from: String, to: String) -> String {
        var lines = ["# What \(channel) showed from \(from) to \(to). To render it:"]
        for source in sources {
            lines.append(
                "#   relay recordings export \(directory) --channel \(channel)-\(source) --from \(from) --to \(to) --exact"
                    + " -o \(source).mp4")
        }
        let inputs = sources.map { " --input \($0).mp4#name=\($0)" }.joined()
        lines.append("#   relay render show.yaml\(inputs) -o show.mp4")
        lines.append("segments:")
        for part in parts { lines.append("  - {\(Self.scene(part.scene)), frames: \(part.frames)\(change(part))}") }
        return lines.map { $0 + "\n" }.joined()
    }

    private static func scene(_ scene: SceneEvent) -> String {
        if scene.layout == "slate" { return "scene: slate" }
        if scene.layout == "single", let source = scene.sources.first { return "source: \(quoted(source))" }
        let options = Dictionary(
            scene.details.compactMap { detail in
                detail.firstIndex(of: "=").map { (detail[..<$0], detail[detail.index(after: $0)...]) }
            }
        ) { $1 }
        var keys = ["layout: \(scene.layout)", "sources: [\(scene.sources.map(quoted).joined(separator: ", "))]"]
        if let x = options["x"], let y = options["y"], let width = options["width"] {
            keys.append("inset: {x: \(x), y: \(y), width: \(width)}")
        }
        if let fit = options["fit"] { keys.append("fit: \(fit)") }
        return "scene: {\(keys.joined(separator: ", "))}"
    }

    /// How a part comes; a transition that was cut off is as long as the part.
    private func change(_ part: Part) -> String {
        guard let seconds = part.scene.seconds, part.scene.transition != "cut" else { return "" }
        let longest = Double(part.frames * frameDuration) / 1e9
        return ", transition: {type: \(part.scene.transition), seconds: \(min(seconds, longest))}"
    }

    /// A name that YAML takes for nothing else.
    private static func quoted(_ name: String) -> String { "\"\(name)\"" }
}

extension SceneEvent {
    /// The same, as if it had come by a cut.
    fileprivate var cut: SceneEvent {
        SceneEvent(name: name, layout: layout, sources: sources, frame: frame, transition: "cut", details: details)
    }
}
