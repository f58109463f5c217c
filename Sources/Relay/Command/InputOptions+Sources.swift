// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Channel
internal import Ingest
internal import Media
internal import Networking
internal import Program
internal import Studio

/// The flags for several inputs: a program that switches between sources and shows several of them together.
extension InputOptions {
    /// The maximum number of sources. A program can have more sources than a grid can show.
    static let mostSources = 16
    /// Names that no source may have, because they mean something else: the slate, and choices of audio.
    private static let reservedNames: Set = ["slate", "mix", "follow"]

    /// Whether the program is composed of sources by scenes: it has several inputs, a run-down (a list of segments that
    /// play one after the other) or overlays. With overlays, one input is enough; with the file of a run-down, none is
    /// needed.
    var isStudio: Bool { input.count > 1 || runDown != nil || !overlay.isEmpty }

    /// Checks the inputs of a composed program, and the flags that are not for it.
    func checkStudio(_ specifications: [InputSpecification]) throws(TextFailure) {
        if let flag = copyFlag {
            throw TextFailure(
                "\(option: flag) passes one \(option: "--input") on: give no other, no \(option: "--rundown") and no "
                    + "\(option: "--overlay"), or leave it out."
            )
        }
        if unpaced {
            throw TextFailure(
                "\(option: "--unpaced") is for one \(option: "--input") without \(option: "--overlay"). Leave it out.")
        }
        for (index, source) in specifications.enumerated()
        where source.standby != nil && source.location.isTest && source.backups.isEmpty {
            throw TextFailure(
                "standby= is for live inputs, and test: is not one. Leave it out.",
                about: OptionReference("--input", .number(index + 1)))
        }
    }

    /// Applies the scenes of a composed program, and what they consist of. The sources are applied already.
    func applyScenes(to configuration: inout ChannelConfiguration) throws(TextFailure) {
        let names = configuration.sources.map(\.name) + unseenSources
        if let index = names.indices.first(where: { names[..<$0].contains(names[$0]) }) {
            throw TextFailure(
                "Two sources have the name \(names[index]): give each its own by #name=.",
                about: index < configuration.sources.count
                    ? OptionReference("--input", .number(index + 1)) : OptionReference("--audio-input"))
        }
        if let taken = names.first(where: Self.reservedNames.contains) {
            throw TextFailure("No source is called \(taken), which means something else: give it another #name=.")
        }
        configuration.audioChoice = try audioChoice(of: names)
        try applyOverlays(to: &configuration)
        let overlays = configuration.overlays.map(\.name)
        let sources = configuration.sources.map(\.name)
        configuration.scenes = try scene.map { (text) throws(TextFailure) in
            try NamedScene(text, sources: sources, overlays: overlays).value
        }
        let scenes = configuration.scenes.map(\.name)
        if scenes.contains(SceneLayout.Kind.slate.rawValue) {
            throw TextFailure("\(option: "--scene"): slate exists already: it shows the slate.")
        }
        if let twice = scenes.first(where: { name in scenes.count { $0 == name } > 1 || names.contains(name) }) {
            throw TextFailure(
                "\(option: "--scene"): there is a scene or a source with the name \(twice) already.",
                about: OptionReference("--scene", .name(twice)))
        }
        try applyRunDown(to: &configuration)
    }

    /// The names of sources without video. The only one is the source of `--audio-input`.
    private var unseenSources: [String] { audioInput == nil ? [] : ["audio"] }

    private func applyOverlays(to configuration: inout ChannelConfiguration) throws(TextFailure) {
        configuration.overlays = try overlay.map { (text) throws(TextFailure) in try OverlaySpecification(text) }
        configuration.stingers = try stinger.map { (text) throws(TextFailure) in try StingerSpecification(text) }
        for (flag, names, most) in [
            ("--overlay", configuration.overlays.map(\.name), OverlaySpecification.most),
            ("--stinger", configuration.stingers.map(\.name), StingerSpecification.most),
        ] {
            guard names.count <= most else { throw TextFailure("\(option: flag) may be given \(most) times.") }
            if let twice = names.first(where: { name in names.count { $0 == name } > 1 }) {
                throw TextFailure(
                    "\(option: flag): two have the name \(twice).", about: OptionReference(flag, .name(twice)))
            }
        }
    }

    private func applyRunDown(to configuration: inout ChannelConfiguration) throws(TextFailure) {
        guard let runDown else { return }
        let known = RunDownReader.Known(
            sources: configuration.sources.map(\.name), unseen: unseenSources, scenes: configuration.scenes,
            overlays: configuration.overlays.map(\.name), stingers: configuration.stingers.map(\.name))
        do {
            let found = try RunDownReader.read(at: runDown, known: known)
            (configuration.runDown, configuration.runDownDirectory) = (found.runDown, found.directory)
        } catch {
            throw TextFailure("\(option: "--rundown"): \(error)")
        }
        if configuration.runDown == nil, configuration.sources.isEmpty {
            throw TextFailure(
                "\(option: "--rundown") names a directory: give \(option: "--input"), or the run-down's file.")
        }
    }

    private func audioChoice(of names: [String]) throws(TextFailure) -> Director.AudioChoice {
        switch audioFrom {
        case nil: return audioInput == nil ? .follow : .source("audio")
        case "follow": return .follow
        case "mix": return .mix
        case let name?:
            guard names.contains(name) else {
                throw TextFailure(
                    "\(option: "--audio-from"): there is no source \(name). There are follow, mix, "
                        + "\(names.joined(separator: ", "))."
                )
            }
            return .source(name)
        }
    }

    /// Reads the specification of an input in `text`. `number` is the position of its flag among the same flags, from
    /// 1, for messages; nil if there is only one.
    static func specification(_ text: String, number: Int?) throws(TextFailure) -> InputSpecification {
        let flag = OptionReference("--input", number.map { .number($0) })
        guard !text.isEmpty else { throw TextFailure("\(flag) is empty: name a file, a URL or test:.") }
        do throws(InputSpecificationError) {
            return try InputSpecification(text)
        } catch {
            throw TextFailure("\(flag) is not usable: \(error)")
        }
    }
}

/// A scene in the syntax of its flag: `name=layout:source,source`. After a `#`, options can follow: the position of an
/// inset, the fit of a split, and overlays.
struct NamedScene {
    let value: (name: String, layout: SceneLayout)

    /// Reads `text`. Its sources must be among `sources`, and its overlays among `overlays`.
    init(_ text: String, sources: [String], overlays: [String]) throws(TextFailure) {
        guard let match = text.wholeMatch(of: /([A-Za-z0-9._-]{1,64})=([a-z-]+)(?::([^#]*))?(?:#(.*))?/) else {
            throw TextFailure("\(option: "--scene") is NAME=LAYOUT:SOURCE,SOURCE, such as duo=pip:cam1,cam2.")
        }
        let name = String(match.output.1)
        guard let kind = SceneLayout.Kind(rawValue: String(match.output.2)) else {
            let known = SceneLayout.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw TextFailure(
                "\(option: "--scene", .name(name)): there is no layout \(match.output.2). There are \(known).")
        }
        var layout = SceneLayout(kind, (match.output.3 ?? "").split(separator: ",").map(String.init))
        do {
            var options = try OptionList(behindMark: match.output.4 ?? "", of: "scene") { $0 }
            layout.fit = try options.takeChoice("fit", of: SceneLayout.Fit.self)
            let corner = try options.takeChoice("corner", of: SceneLayout.Corner.self)
            let place = try ["x", "y", "width"].map { try options.takeFraction($0) }
            layout.overlays = try options.take("overlays").map { $0.split(separator: "+").map(String.init) }
            try options.finish()
            if corner != nil || place.contains(where: { $0 != nil }) {
                layout.inset = try .init(corner: corner, x: place[0], y: place[1], width: place[2])
            }
            try layout.check()
        } catch {
            throw TextFailure("\(option: "--scene", .name(name)): \(error)")
        }
        if let unknown = layout.sources.first(where: { !sources.contains($0) }) {
            throw TextFailure(
                "\(option: "--scene", .name(name)): there is no source \(unknown). There are "
                    + "\(sources.joined(separator: ", "))."
            )
        }
        if let unknown = layout.overlays?.first(where: { !overlays.contains($0) }) {
            let known = overlays.isEmpty ? "There is none." : "There are \(overlays.joined(separator: ", "))."
            throw TextFailure("\(option: "--scene", .name(name)): there is no overlay \(unknown). \(known)")
        }
        value = (name, layout)
    }

    /// Returns `layout` in the syntax of the flag, without a name.
    static func text(of layout: SceneLayout) -> String {
        let overlays = (layout.overlays ?? []).joined(separator: "+")
        let options = (layout.details + (overlays.isEmpty ? [] : ["overlays=\(overlays)"])).joined(separator: ",")
        return "\(layout.layout.rawValue):\(layout.sources.joined(separator: ","))"
            + (options.isEmpty ? "" : "#" + options)
    }
}
