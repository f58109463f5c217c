// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Channel
internal import Media
internal import Networking
internal import Publisher

/// The flags for live outputs. Addresses are not parsed by the argument parser but here, because the parser's messages
/// would contain the addresses with their stream keys.
struct OutputOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Publish by RTMP or RTMPS. May be given again and again.",
            discussion: OutputKind.rtmp.help, valueName: "url"))
    var rtmp: [String] = []

    @Option(
        help: ArgumentHelp(
            "Send MPEG-TS by SRT. May be given again and again.", discussion: OutputKind.srt.help, valueName: "url"))
    var srt: [String] = []

    @Option(
        help: ArgumentHelp(
            "Send to any address, with options. May be given again and again.",
            discussion: "\(OutputOptions.addressHelp) Behind a #, here and there, options of this output: "
                + "\(OutputOptions.optionHelp) A comma in a value is written %2C. In addresses and values, ${NAME} is a "
                + "variable of the environment and ${file:/path} a file of mode 600, which keep secrets out of the "
                + "command line; write $${ for ${ itself.",
            valueName: "address"))
    var output: [String] = []

    @Option(
        help: ArgumentHelp(
            "A program, or an address, that decides which clients may play an --output of rtmp-listen://.",
            discussion: "As --on-publish; the event is play.", valueName: "program"))
    var onPlay: String?

    @Option(
        name: .customLong("tls-ca"),
        help: ArgumentHelp(
            "Trust the authorities in this PEM file, and no others, with all rtmps:// outputs.", valueName: "file"))
    var authorities: String?

    /// The syntax of the addresses of each kind of output, for the help.
    private static var addressHelp: String {
        let others = OutputKind.all.filter { ![OutputKind.rtmp.name, OutputKind.srt.name].contains($0.name) }
        let forms = others.map(\.help)
        return "An address as for --rtmp or --srt, \(forms.dropLast().joined(separator: ", ")) or \(forms.last ?? "")."
    }

    /// The options of outputs, for the help: first those that all kinds of outputs have, then those of each kind.
    private static var optionHelp: String {
        let list = { (options: [AddressOption]) in options.map(\.help).joined(separator: ", ") + "." }
        let own = OutputKind.all.filter { !$0.options.isEmpty }.map { "For \($0.title): \(list($0.options))" }
        return ([list(OutputSpecification.options)] + own).joined(separator: " ")
    }

    private var defaults: OutputDefaults {
        var defaults = OutputDefaults()
        if let authorities { defaults.tls = .authority(file: authorities) }
        return defaults
    }

    func apply(to configuration: inout ChannelConfiguration) throws(TextFailure) {
        configuration.outputs =
            try read(rtmp, of: "--rtmp", kind: .rtmp) + read(srt, of: "--srt", kind: .srt)
            + read(output, of: "--output", kind: nil)
        if let onPlay {
            guard configuration.outputs.contains(where: { $0.address.destination.listening?.offer != nil }) else {
                throw TextFailure(
                    "\(option: "--on-play") is for an \(option: "--output") of rtmp-listen://. Leave it out.")
            }
            configuration.onPlay = try ClientDecision(onPlay, of: "--on-play")
        }
        if let second = Self.repeated(in: configuration.outputs.map(\.text)) {
            throw TextFailure("The same output address is given twice; give each once.", about: label(of: second))
        }
        let names = configuration.outputNames
        if let second = Self.repeated(in: names) {
            throw TextFailure(
                "Two outputs have the name \(names[second]); give each its own by #name=.", about: label(of: second))
        }
    }

    /// Returns a reference to the flag of an output, such as `--srt number 1`. `index` is the output's index among all
    /// outputs.
    func label(of index: Int) -> OptionReference {
        var number = index
        for (flag, texts) in [("--rtmp", rtmp), ("--srt", srt)] {
            if number < texts.count { return OptionReference(flag, .number(number + 1)) }
            number -= texts.count
        }
        return OptionReference("--output", .number(number + 1))
    }

    /// The index of the first of `texts` that is equal to an earlier one; nil if all differ.
    private static func repeated(in texts: [String]) -> Int? {
        var seen: Set<String> = []
        return texts.firstIndex { !seen.insert($0).inserted }
    }

    private func read(
        _ texts: [String], of flag: String, kind: OutputKind?
    ) throws(TextFailure) -> [OutputSpecification] {
        try texts.enumerated().map { (index, text) throws(TextFailure) in
            do throws(OutputSpecificationError) {
                return try OutputSpecification(text, kind: kind, defaults: defaults)
            } catch {
                throw TextFailure("\(option: flag, .number(index + 1)) is not usable: \(error)")
            }
        }
    }
}
