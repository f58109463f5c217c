// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Encoder
internal import Ingest
internal import Media
internal import RTMP

/// The flags that say where video and audio come from.
struct InputOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A file, a URL that libavformat reads, test: or v4l2:/dev/video0.",
            discussion:
                "test: is a built-in pattern with timecode and tone. Files are played in real time; live sources "
                + "are taken as they come. rtmp-listen://[address][:port]/app/KEY waits for whoever publishes "
                + "there by RTMP, on the loopback interface unless an address is given, such as 0.0.0.0; "
                + "?takeover=yes lets a second publisher take the place of the first. "
                + "${NAME} and ${file:/path} in it are replaced as in --output.",
            valueName: "source"))
    var input = "test:"

    @Option(help: ArgumentHelp("Take the audio from here instead, such as alsa:default.", valueName: "source"))
    var audioInput: String?

    @Flag(
        help: ArgumentHelp(
            "Pass the input on as it is, without an encoder.",
            discussion: "Frames, audio and their times are the input's own, and files begin at its keyframes."))
    var copy = false

    @Option(
        name: .customLong("tls-cert"),
        help: ArgumentHelp(
            "The certificate that rtmps-listen:// shows, with those behind it, in PEM. Read again when it changes.",
            valueName: "file"))
    var certificate: String?

    @Option(
        name: .customLong("tls-key"),
        help: ArgumentHelp("The key of --tls-cert, in PEM, of mode 600 or 640.", valueName: "file"))
    var key: String?

    @Option(
        help: ArgumentHelp(
            "A program that decides about whoever wants to publish to an --input of rtmp-listen://.",
            discussion:
                "It is asked about each client that has the key, within 8 s, and allows it by status 0. What it learns is in "
                + "the environment: RELAY_EVENT (publish), RELAY_CHANNEL, RELAY_ADDRESS, RELAY_APP, RELAY_STREAM, "
                + "RELAY_QUERY, RELAY_CLIENT.", valueName: "program"))
    var onPublish: String?

    @Flag(help: "Play a file again and again, without a hole.")
    var loop = false

    @Flag(help: "Encode as fast as possible. For recordings alone.")
    var unpaced = false

    func apply(to configuration: inout ChannelConfiguration) throws {
        configuration.input = try Self.location(input, flag: "--input")
        configuration.audioInput = try audioInput.map { try Self.location($0, flag: "--audio-input") }
        configuration.loops = loop
        configuration.copies = copy
        try checkCopy(configuration)
        try checkListeners(configuration)
        try checkCommand(&configuration)
        configuration.isPaced = !unpaced
        configuration.encoder.isLive = !unpaced
        if unpaced, configuration.input.isLiveByNature == true {
            throw ValidationError("--unpaced is for files: \(configuration.input) comes at its own pace. Leave it out.")
        }
        if loop, configuration.input.isLiveByNature == true {
            throw ValidationError("--loop is for files: \(configuration.input) has no end. Leave it out.")
        }
    }

    private func checkCopy(_ configuration: ChannelConfiguration) throws {
        guard copy else { return }
        if configuration.input.isTest {
            throw ValidationError("--copy needs an input that is encoded already: test: is not. Give --input.")
        }
        if audioInput != nil {
            throw ValidationError("--copy takes video and audio from one input: leave --audio-input out.")
        }
    }

    private func checkListeners(_ configuration: ChannelConfiguration) throws {
        for location in [configuration.input, configuration.audioInput].compactMap(\.self) {
            do {
                _ = try Self.listenURL(of: location)
            } catch {
                throw ValidationError("\(location) is not usable: \(error)")
            }
        }
    }

    private func checkCommand(_ configuration: inout ChannelConfiguration) throws {
        guard let onPublish else { return }
        guard [configuration.input, configuration.audioInput].contains(where: { $0?.rtmpListenAddress != nil }) else {
            throw ValidationError("--on-publish is for an --input of rtmp-listen://. Leave it out.")
        }
        if let fault = ClientCommand.fault(onPublish, of: "--on-publish") { throw ValidationError(fault) }
        configuration.onPublish = onPublish
    }

    private static func listenURL(of location: InputLocation?) throws -> RTMPListenURL? {
        try location?.rtmpListenAddress.map { try RTMPListenURL($0, for: .input) }
    }

    /// Takes the certificate that inputs and outputs show to those who connect to them with TLS.
    func applyCertificate(to configuration: inout ChannelConfiguration) throws {
        let isNeeded =
            try Self.listenURL(of: configuration.input)?.isSecure == true
            || Self.listenURL(of: configuration.audioInput)?.isSecure == true
            || configuration.outputs.contains { $0.address.isSecureListener }
        switch (certificate, key) {
        case (nil, nil) where !isNeeded: return
        case (let certificate?, let key?) where isNeeded: configuration.certificate = (certificate, key)
        case _ where isNeeded: throw ValidationError("rtmps-listen:// needs --tls-cert and --tls-key.")
        default:
            let flag = certificate == nil ? "--tls-key" : "--tls-cert"
            throw ValidationError("\(flag) is for an --input or --output of rtmps-listen://. Leave it out.")
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
