// SPDX-License-Identifier: Apache-2.0

internal import Catalogue
internal import Media
internal import Program
internal import Studio

extension RecordedShow {
    /// Returns the run-down in YAML. Its comments contain the commands that render it. `directory` is the directory of
    /// the recordings, `from` and `to` are the limits of the show as these commands take them, and `size` is the size
    /// of the frames.
    package func text(directory: String, from: String, to: String, size: (width: Int, height: Int)? = nil) -> String {
        // Line breaks are removed from the comments. The name of a directory may contain a line break, which would end
        // its comment.
        let comments = instructions(directory, from, to, size).map(YAMLText.plain)
        let lines = comments + ["segments:"] + parts.map(line)
        return lines.map { $0 + "\n" }.joined()
    }

    private func instructions(
        _ directory: String, _ from: String, _ to: String, _ size: (width: Int, height: Int)?
    ) -> [String] {
        var lines = ["# What \(channel) showed from \(from) to \(to). To render it:"]
        let export = { (channel: String, name: String) in
            "#   relay recordings export \(directory) --channel \(channel) --from \(from) --to \(to) --exact -o \(name).mp4"
        }
        var command = "#   relay render show.yaml"
        for source in sources {
            if let lead = source.lead {
                lines.append(export("\(channel)-\(source.name)", source.name))
                let at = lead > .zero ? ",at=\(DecimalSeconds(lead))s" : ""
                command += " --input \(source.name).mp4#name=\(source.name)\(at)"
            } else {
                lines.append("#   (nothing was recorded of \(source.name): give a file of it)")
                command += " --input FILE#name=\(source.name)"
            }
        }
        if needsAudio {
            lines.append(export(channel, "program"))
            command += " --audio-input program.mp4 --audio-from follow"
        }
        for name in Set(parts.flatMap { overlays(of: $0.scene) }).sorted() {
            command += " --overlay \(name)=SPECIFICATION"
        }
        for name in Set(parts.compactMap { $0.scene.stinger }).sorted() {
            command += " --stinger \(name)=SPECIFICATION"
        }
        if let size { command += " --size \(size.width)x\(size.height)" }
        return lines + ["\(command) --fps \(rate) -o show.mp4"]
    }

    // MARK: A segment

    private func line(_ part: Part) -> String {
        let scene = part.scene
        let isFile = scene.sources.contains(RunDown.clipName) && !sources.contains { $0.name == RunDown.clipName }
        let path = isFile ? scene.detail("file") : nil
        if isFile, path == nil {
            return "  - {scene: slate, frames: \(part.frames)} # a file, of which nothing says which"
        }
        var keys: [String] = []
        if let path {
            keys.append("file: \(YAMLText.quoted(path))")
            if let start = scene.detail("in"), start != "0s" { keys.append("in: \(start)") }
        }
        if let seen = self.scene(scene, isFile: isFile) { keys.append(seen) }
        keys.append("frames: \(part.frames)")
        if let change = change(scene) { keys.append(change) }
        if let audio = scene.detail("audio") { keys.append("audio: \(YAMLText.quoted(audio))") }
        return "  - {\(keys.joined(separator: ", "))}"
    }

    /// The YAML keys for the visible sources of a scene; nil if the segment's own file is the only visible source.
    private func scene(_ scene: SceneEvent, isFile: Bool) -> String? {
        let overlays = overlays(of: scene)
        if overlays.isEmpty {
            if scene.layout == "slate" { return "scene: slate" }
            if scene.layout == "single", let source = scene.sources.first {
                return isFile ? nil : "source: \(YAMLText.quoted(source))"
            }
        }
        var keys = ["layout: \(scene.layout)", "sources: \(Self.list(scene.sources))"]
        if let x = scene.detail("x"), let y = scene.detail("y"), let width = scene.detail("width") {
            keys.append("inset: {x: \(x), y: \(y), width: \(width)}")
        }
        if let fit = scene.detail("fit") { keys.append("fit: \(fit)") }
        if !overlays.isEmpty { keys.append("overlays: \(Self.list(overlays))") }
        return "scene: {\(keys.joined(separator: ", "))}"
    }

    private func overlays(of scene: SceneEvent) -> [String] {
        scene.detail("overlays")?.split(separator: "+").map(String.init) ?? []
    }

    /// The YAML key for the transition to a scene; nil for a cut. A transition that was interrupted is written with its
    /// full length, because the next part replaces its end.
    private func change(_ scene: SceneEvent) -> String? {
        if let stinger = scene.stinger { return "transition: {type: stinger, name: \(YAMLText.quoted(stinger))}" }
        guard let seconds = scene.seconds, scene.transition != "cut" else { return nil }
        let easing = scene.detail("easing").map { ", easing: \($0)" } ?? ""
        let color = scene.detail("color").map { ", color: \(YAMLText.quoted($0))" } ?? ""
        return "transition: {type: \(scene.transition), seconds: \(seconds)\(easing)\(color)}"
    }

    private static func list(_ names: [String]) -> String { "[\(names.map(YAMLText.quoted).joined(separator: ", "))]" }
}

extension SceneEvent {
    /// The stinger that played when the scene went on air; nil for any other transition.
    fileprivate var stinger: String? {
        transition.hasPrefix("stinger ") ? String(transition.dropFirst("stinger ".count)) : nil
    }
}
