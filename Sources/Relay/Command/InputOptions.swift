// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Encoder
internal import Ingest
internal import Media

/// The flags that say where video and audio come from.
struct InputOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A file, a URL that libavformat reads, test: or v4l2:/dev/video0.",
            discussion:
                "test: is a built-in pattern with timecode and tone. Files are played in real time; live sources "
                + "are taken as they come. ${NAME} and ${file:/path} in it are replaced as in --output.",
            valueName: "source"))
    var input = "test:"

    @Option(help: ArgumentHelp("Take the audio from here instead, such as alsa:default.", valueName: "source"))
    var audioInput: String?

    @Flag(help: "Play a file again and again, without a hole.")
    var loop = false

    @Flag(help: "Encode as fast as possible. For recordings alone.")
    var unpaced = false

    func apply(to configuration: inout ChannelConfiguration) throws {
        configuration.input = try Self.location(input, flag: "--input")
        configuration.audioInput = try audioInput.map { try Self.location($0, flag: "--audio-input") }
        configuration.loops = loop
        configuration.isPaced = !unpaced
        configuration.encoder.isLive = !unpaced
        if unpaced, configuration.input.isLiveByNature == true {
            throw ValidationError("--unpaced is for files: \(configuration.input) comes at its own pace. Leave it out.")
        }
        if loop, configuration.input.isLiveByNature == true {
            throw ValidationError("--loop is for files: \(configuration.input) has no end. Leave it out.")
        }
    }

    private static func location(_ text: String, flag: String) throws -> InputLocation {
        guard !text.isEmpty else { throw ValidationError("\(flag) is empty: name a file, a URL or test:.") }
        let location: InputLocation
        do throws(SecretReferenceError) {
            location = InputLocation(try SecretReferences.process.expand(text), shownAs: text)
        } catch {
            throw ValidationError("\(flag) is not usable: \(error)")
        }
        if let fault = location.fault { throw ValidationError("\(flag) is not usable: \(fault)") }
        return location
    }
}
