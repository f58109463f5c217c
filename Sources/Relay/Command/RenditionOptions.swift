// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Channel
internal import Encoder
internal import Media

/// The flag for renditions: additional encodings of the program.
struct RenditionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Encode the program once more, for outputs and a recording that name it. May be repeated.",
            discussion: """
                NAME#OPTION=VALUE,…, such as archive#video-bitrate=12M,gop=1s,size=1280x720. Options are video-bitrate, gop, \
                size, preset, tune (or none), profile, bframes and audio-bitrate, with the values of the flags of these \
                names; what is not said is as the program's own encoding has it. An output takes it by #rendition=NAME, \
                the recording by --record-rendition. If the machine cannot keep up, a rendition loses frames, and the \
                program none.
                """, valueName: "rendition"))
    var rendition: [String] = []

    func apply(to configuration: inout ChannelConfiguration) throws(TextFailure) {
        configuration.renditions = try rendition.map { (text) throws(TextFailure) in try RenditionSpecification(text) }
        let names = configuration.renditions.map(\.name)
        if let twice = names.first(where: { name in names.count { $0 == name } > 1 }) {
            throw TextFailure(
                "\(option: "--rendition", .name(twice)): there are two of this name; each has one of its own.")
        }
        guard names.count <= RenditionSpecification.most else {
            throw TextFailure(
                "\(option: "--rendition") is given \(names.count) times; \(RenditionSpecification.most) can be.")
        }
        for one in configuration.renditions {
            let settings = one.settings(beside: configuration.encoder)
            if settings.profile == .baseline, settings.bFrames ?? 0 > 0 {
                throw TextFailure(
                    "\(option: "--rendition", .name(one.name)): the baseline profile has no B-frames; say bframes=0.")
            }
        }
    }

    /// Throws if a rendition is requested for a program that is passed through without encoding, or that runs faster
    /// than the clock.
    func check(against configuration: ChannelConfiguration, by copyFlag: String?) throws(TextFailure) {
        guard !rendition.isEmpty else { return }
        if let copyFlag {
            throw TextFailure(
                "\(option: "--rendition") is for a program that is encoded here, and \(option: copyFlag) passes it on. "
                    + "Leave one of them out."
            )
        }
        guard configuration.isPaced else {
            throw TextFailure(
                "\(option: "--rendition") is for a program in real time: leave out \(option: "--unpaced").")
        }
    }

    /// Throws if an output or the recording of `configuration` names a rendition that does not exist. `label` returns
    /// the flag of the output with a given index.
    func checkNames(in configuration: ChannelConfiguration, label: (Int) -> OptionReference) throws(TextFailure) {
        let renditions = configuration.renditions
        let isKnown = { (name: String) in renditions.contains { $0.name == name } }
        for (index, output) in configuration.outputs.enumerated() {
            guard let name = output.rendition, !isKnown(name) else { continue }
            throw TextFailure("\(label(index)) is not usable: \(renditions.unknown(name))")
        }
        if let name = configuration.recording?.rendition, !isKnown(name) {
            throw TextFailure("\(option: "--record-rendition"): \(renditions.unknown(name))")
        }
    }
}
