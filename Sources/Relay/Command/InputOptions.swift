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
                + "are taken as they come. rtmp-listen://[address][:port]/app/KEY, with --copy, waits for whoever publishes "
                + "there by RTMP, on the loopback interface unless an address is given, such as 0.0.0.0; "
                + "?takeover=yes lets a second publisher take the place of the first. "
                + "srt://host:port?mode=caller&latency=200&passphrase=…&streamid=… receives MPEG-TS by SRT, times in "
                + "milliseconds; with mode=listener it waits for a sender, on the loopback interface unless an address "
                + "is given, and inputs with different stream ids may share a port. "
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

    @Flag(
        help: ArgumentHelp(
            "Pass the input's video on as it is, and encode its audio.",
            discussion: "Both keep the input's times."))
    var copyVideo = false

    @Flag(
        help: ArgumentHelp(
            "Pass the input's audio on as it is, and encode its video.",
            discussion: "Both keep the input's times; frames are neither repeated nor left out."))
    var copyAudio = false

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

    @Flag(help: "Play a file again and again, without a hole.")
    var loop = false

    @Flag(help: "Encode as fast as possible. For recordings alone.")
    var unpaced = false

    func apply(to configuration: inout ChannelConfiguration) throws {
        configuration.input = try Self.location(input, flag: "--input")
        configuration.audioInput = try audioInput.map { try Self.location($0, flag: "--audio-input") }
        configuration.loops = loop
        configuration.copying = try copying
        try checkCopy(configuration)
        try applyListener(to: &configuration)
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
        guard let flag = copyFlag else { return }
        if configuration.input.isTest {
            throw ValidationError("\(flag) needs an input that is encoded already: test: is not. Give --input.")
        }
        if audioInput != nil {
            throw ValidationError("\(flag) takes video and audio from one input: leave --audio-input out.")
        }
    }

    /// The flag that passes something through, if there is one.
    var copyFlag: String? { copy ? "--copy" : copyVideo ? "--copy-video" : copyAudio ? "--copy-audio" : nil }

    private var copying: ChannelConfiguration.Copying {
        get throws {
            if [copy, copyVideo, copyAudio].filter(\.self).count > 1 {
                throw ValidationError("--copy, --copy-video and --copy-audio exclude each other; --copy is both.")
            }
            return copy ? .all : copyVideo ? .video : copyAudio ? .audio : .nothing
        }
    }

    private func applyListener(to configuration: inout ChannelConfiguration) throws {
        guard let address = configuration.input.rtmpListenAddress else {
            if let flag = certificate.map({ _ in "--tls-cert" }) ?? key.map({ _ in "--tls-key" }) {
                throw ValidationError("\(flag) is for an --input of rtmps-listen://. Leave it out.")
            }
            return
        }
        let url: RTMPListenURL
        do {
            url = try RTMPListenURL(address, for: .input)
        } catch {
            throw ValidationError("--input is not usable: \(error)")
        }
        if copyFlag == nil {
            throw ValidationError(
                "An --input of \(configuration.input) needs --copy, --copy-video or --copy-audio.")
        }
        switch (certificate, key) {
        case (nil, nil) where !url.isSecure: return
        case (let certificate?, let key?) where url.isSecure: configuration.certificate = (certificate, key)
        case _ where url.isSecure:
            throw ValidationError("An --input of rtmps-listen:// needs --tls-cert and --tls-key.")
        default: throw ValidationError("--tls-cert and --tls-key are for rtmps-listen://. Leave them out.")
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
