// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Channel
internal import Encoder
internal import Glibc
internal import Ingest
internal import Media
internal import Networking
internal import Publisher
internal import RTMP
internal import SRT
internal import Studio

/// The flags for the sources of video and audio.
struct InputOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A file, a URL that libavformat reads, test: or v4l2:/dev/video0. May be repeated: see --scene.",
            discussion:
                "Several are open side by side, and an operator says by the HTTP API which are seen; the first is to "
                + "begin with. test: is a built-in pattern with timecode and tone. Files are played in real time; live sources "
                + "are taken as they come. rtmp-listen://[address][:port]/app/KEY waits for a client that publishes "
                + "there by RTMP, on the loopback interface unless an address is given, such as 0.0.0.0; "
                + "?takeover=yes lets a second publisher take the place of the first. "
                + "srt://host:port?mode=caller&latency=200&passphrase=…&streamid=… receives MPEG-TS by SRT, times in "
                + "milliseconds; with mode=listener it waits for a sender, on the loopback interface unless an address "
                + "is given, and inputs with different stream ids may share a port. "
                + "Behind a #, with commas between them: program=N, video-track= and audio-track= (a number from 1, or a "
                + "language such as eng), channels=L+R (the numbers of the channels that become left and right, or one for "
                + "both), audio-offset=TIME (later; -TIME for earlier); of live input latency=TIME, name=cam1 and "
                + "backup=srt://…,backup=loop.mp4 with timeout=2s (how long it may show nothing), "
                + "standby=cold|keyframes|hot (what is kept ready of backups, and of one of several inputs that is not shown) and "
                + "return=10s|never (how long it must be healthy to come back); of one of several files when-off=keep|pause|close (what it does while it is "
                + "neither seen nor heard), and of one of several inputs gain=DECIBELS and muted=yes, until an operator "
                + "says something else. audio=no leaves the audio out. Capture devices take "
                + "pixel-format=MJPG, sample-rate=48000 and capture-channels=2; HTTP takes header=NAME:VALUE, which may be "
                + "repeated and is not shown; RTSP takes transport=tcp|udp. A comma in a value is written %2C. "
                + "${NAME} and ${file:/path} in it are replaced as in --output.",
            valueName: "source"))
    var input = [InputOptions.pattern]
    /// The source that is used if no flag names a source.
    static let pattern = "test:"

    @Option(
        help: ArgumentHelp(
            "What is shown when no input has anything: bars, off, or a file.",
            discussion: "bars are color bars with “no signal” and the channel's name; a file is an image or a video, "
                + "which is played again and again without its audio. The channel goes on air with it if its input is "
                + "absent. off leaves the last frame standing. bars is usual with backup=, off without "
                + "and with --copy, where it is encoded while it is on air.",
            valueName: "slate"))
    var slate: String?

    @Option(help: ArgumentHelp("Take the audio from here instead, such as alsa:default.", valueName: "source"))
    var audioInput: String?

    @Option(
        name: .customLong("audio-from"),
        help: ArgumentHelp(
            "Whose audio a program of several inputs has: follow, mix, or an input's name.",
            discussion: "follow is the audio of the source that is seen, or of the main one of several; mix is all of "
                + "them together. With --audio-input, which is named audio, it is that unless something else is said.",
            valueName: "source"))
    var audioFrom: String?

    @Option(
        help: ArgumentHelp(
            "A scene of several inputs by a name: NAME=LAYOUT:SOURCE,SOURCE. May be repeated.",
            discussion:
                "Layouts are single, pip, split-horizontal, split-vertical, grid and slate. Behind a #: corner=, or x= "
                + "and y=, and width= of the inset of pip, as fractions of the frame, fit=crop|contain of a split, and "
                + "overlays=NAME+NAME.",
            valueName: "scene"))
    var scene: [String] = []

    @Option(
        help: ArgumentHelp(
            "What may stand over the program: NAME=image:FILE or NAME=text:TEXT. May be repeated: the last is in front.",
            discussion:
                "It is seen with the scenes that name it, and when the HTTP API says so. In a text {timecode} is the "
                + "program's time and {time} the wall clock's. Behind a #, as fractions of the frame: x= and y= of its upper "
                + "left corner, width= or height= (of a text the height of its line), and opacity=; visible=yes shows it "
                + "from the beginning, and visible=no hides it, whatever the scene; color=#rrggbb and font=FILE are for texts.",
            valueName: "overlay"))
    var overlay: [String] = []

    @Option(
        help: ArgumentHelp(
            "A video with alpha to be shown over a change of scene: NAME=FILE#cut=SECONDS. May be repeated.",
            discussion: "The scene changes below it at the time of cut=. It lasts 5 s at most; its audio is not heard.",
            valueName: "stinger"))
    var stinger: [String] = []

    @Option(
        name: .customLong("rundown"),
        help: ArgumentHelp(
            "A show that is played by itself: a YAML file of segments, or a directory of files for those of the HTTP API.",
            discussion:
                "Segments are inputs, scenes or files, one after the other. Without --input the program is made of "
                + "the files alone, and ends with them.",
            valueName: "file"))
    var runDown: String?

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

    @Option(
        help: ArgumentHelp(
            "A program, or an http:// or https:// address, that decides which clients may publish to an --input of "
                + "rtmp-listen://.",
            discussion:
                "It is asked about each client that has the key, within 8 s. A program allows it by status 0. What it learns "
                + "is in the environment: RELAY_EVENT (publish), RELAY_CHANNEL, RELAY_ADDRESS, RELAY_APP, RELAY_STREAM, "
                + "RELAY_QUERY, RELAY_CLIENT. A server gets the same by POST, as JSON (event, channel, …), and allows it by a "
                + "status from 200 to 299.", valueName: "program"))
    var onPublish: String?

    @Flag(help: "Play a file again and again, without a hole.")
    var loop = false

    @Flag(help: "Encode as fast as possible. For recordings alone.")
    var unpaced = false

    func apply(to configuration: inout ChannelConfiguration) throws(TextFailure) {
        let specifications = try applySources(to: &configuration)
        configuration.audioInput = try audioInput.map { (text) throws(TextFailure) in try audioLocation(text) }
        configuration.loops = loop
        configuration.copying = try copying
        if isStudio {
            try checkStudio(specifications)
            try applyScenes(to: &configuration)
        } else {
            try checkSingle(specifications[0], configuration)
            try checkCopy(configuration)
        }
        try checkListeners(configuration)
        try checkCommand(&configuration)
        configuration.isPaced = !unpaced
        configuration.encoder.isLive = !unpaced
        guard !isStudio, case let input = configuration.sources[0].input, input.isLiveByNature == true else { return }
        if unpaced {
            throw TextFailure("\(option: "--unpaced") is for files: \(input) comes at its own pace. Leave it out.")
        }
        if loop { throw TextFailure("\(option: "--loop") is for files: \(input) has no end. Leave it out.") }
    }

    /// Applies the inputs, their backups and the slate (the frames that are shown when no input works), and the rules by
    /// which one of them is selected. Returns the specifications of the inputs.
    private func applySources(
        to configuration: inout ChannelConfiguration
    ) throws(TextFailure) -> [InputSpecification] {
        // A program with a run-down needs no input. Therefore the default input, which is the test pattern, is left
        // out.
        let inputs = runDown != nil && input == [Self.pattern] ? [] : input
        guard inputs.count <= Self.mostSources else {
            throw TextFailure("\(option: "--input") may be given \(Self.mostSources) times.")
        }
        let specifications = try inputs.enumerated().map { (index, text) throws(TextFailure) in
            try Self.specification(text, number: input.count > 1 ? index + 1 : nil)
        }
        configuration.sources = specifications.enumerated().map { source($1, number: $0 + 1) }
        configuration.slate = try slateChoice(
            hasBackups: isStudio || configuration.sources.contains { !$0.backups.isEmpty })
        return specifications
    }

    /// Returns the source of an input. `number` is the position of the input, from 1.
    private func source(_ specification: InputSpecification, number: Int) -> ChannelConfiguration.Source {
        var selection = specification.selection
        if isStudio, !specification.location.isTest { selection.unseen = specification.standby ?? .hot }
        return ChannelConfiguration.Source(
            name: specification.name ?? (isStudio ? "input-\(number)" : nil), input: specification.location,
            backups: specification.backups, selection: selection, whenOff: specification.whenOff ?? .keep,
            audio: specification.audio)
    }

    /// Checks the only input of a program that is not composed of scenes, and the flags that need several inputs.
    private func checkSingle(
        _ specification: InputSpecification, _ configuration: ChannelConfiguration
    ) throws(TextFailure) {
        let flags = [
            ("--audio-from", audioFrom != nil), ("--scene", !scene.isEmpty), ("--stinger", !stinger.isEmpty),
        ]
        if let flag = flags.first(where: \.1) {
            throw TextFailure("\(option: flag.0) is for several \(option: "--input"). Leave it out.")
        }
        let source = configuration.sources[0]
        if specification.whenOff != nil {
            throw TextFailure(
                "when-off= is for one of several \(option: "--input"): a single one is never off. Leave it out.")
        }
        if let option = specification.audioOption {
            throw TextFailure("\(option)= is for one of several \(option: "--input"), which are mixed. Leave it out.")
        }
        guard configuration.hasChoice else {
            guard let option = specification.selectionOption else { return }
            throw TextFailure(
                "\(option)= needs backup= beside it, or \(option: "--slate").", about: OptionReference("--input"))
        }
        let flag: OptionSentence = source.backups.isEmpty ? "\(option: "--slate")" : "backup="
        if source.input.isLiveByNature == false {
            throw TextFailure("\(flag) is for live inputs, and \(source.input) is not one. Leave it out.")
        }
        if unpaced {
            throw TextFailure("\(option: "--unpaced") is for files, and \(flag) for live inputs. Leave one out.")
        }
        if let copyFlag, !copy {
            throw TextFailure(
                "\(flag) goes together with \(option: "--copy"), but not with \(option: copyFlag). Leave one of them "
                    + "out."
            )
        }
        if copy, source.backups.contains(where: \.isTest) {
            throw TextFailure("\(option: "--copy") needs backups that are encoded already: test: is not. Leave it out.")
        }
    }

    private func slateChoice(hasBackups: Bool) throws(TextFailure) -> SlateSpecification? {
        switch slate {
        case nil: return hasBackups && !copy ? .bars : nil
        case "bars": return .bars
        case "off": return nil
        case "": throw TextFailure("\(option: "--slate") is bars, off, or the name of an image or a video file.")
        case let path?:
            guard access(path, R_OK) == 0 else {
                throw TextFailure(
                    "\(option: "--slate"): there is no file \(path) that can be read. It may also be bars or off.")
            }
            return .file(path: path)
        }
    }

    private func checkCopy(_ configuration: ChannelConfiguration) throws(TextFailure) {
        guard let flag = copyFlag, case let input = configuration.sources[0].input else { return }
        if input.isTest {
            throw TextFailure(
                "\(option: flag) needs an input that is encoded already: test: is not. Give \(option: "--input").")
        }
        if input.tracks.channels != nil {
            throw TextFailure(
                "#channels= is for audio that is decoded, and \(option: "--copy") leaves it as it is. Leave one out.")
        }
        if audioInput != nil {
            throw TextFailure(
                "\(option: flag) takes video and audio from one input: leave \(option: "--audio-input") out.")
        }
    }

    /// The flag by which video or audio is passed through without encoding; nil if no such flag is given.
    var copyFlag: String? { copy ? "--copy" : copyVideo ? "--copy-video" : copyAudio ? "--copy-audio" : nil }

    private var copying: ChannelConfiguration.Copying {
        get throws(TextFailure) {
            if [copy, copyVideo, copyAudio].filter(\.self).count > 1 {
                throw TextFailure(
                    "\(option: "--copy"), \(option: "--copy-video") and \(option: "--copy-audio") exclude each other; "
                        + "\(option: "--copy") is both."
                )
            }
            return copy ? .all : copyVideo ? .video : copyAudio ? .audio : .nothing
        }
    }

    private func checkListeners(_ configuration: ChannelConfiguration) throws(TextFailure) {
        for location in configuration.allInputs {
            do {
                _ = try Self.listenURL(of: location)
            } catch {
                throw TextFailure("\(location) is not usable: \(error)")
            }
        }
        try checkAudioListener(configuration)
    }

    private func checkCommand(_ configuration: inout ChannelConfiguration) throws(TextFailure) {
        guard let onPublish else { return }
        guard configuration.allInputs.contains(where: { $0.rtmpListenAddress != nil }) else {
            throw TextFailure(
                "\(option: "--on-publish") is for an \(option: "--input") of rtmp-listen://. Leave it out.")
        }
        configuration.onPublish = try ClientDecision(onPublish, of: "--on-publish")
    }

    static func listenURL(of location: InputLocation) throws(AddressError) -> RTMPListenURL? {
        try location.rtmpListenAddress.map { (text) throws(AddressError) in try RTMPListenURL(text, for: .input) }
    }

    /// Applies the certificate that inputs and outputs present to clients that connect with TLS.
    func applyCertificate(to configuration: inout ChannelConfiguration) throws(TextFailure) {
        let isNeeded =
            // An address that cannot be read was refused earlier, so `try?` hides no error.
            configuration.allInputs.contains { (try? Self.listenURL(of: $0))?.isSecure == true }
            || configuration.outputs.contains { $0.address.destination.listening?.offer?.isSecure == true }
        switch (certificate, key) {
        case (nil, nil) where !isNeeded: return
        case (let certificate?, let key?) where isNeeded: configuration.certificate = (certificate, key)
        case _ where isNeeded:
            throw TextFailure("rtmps-listen:// needs \(option: "--tls-cert") and \(option: "--tls-key").")
        default:
            let flag = certificate == nil ? "--tls-key" : "--tls-cert"
            throw TextFailure(
                "\(option: flag) is for an \(option: "--input") or \(option: "--output") of rtmps-listen://. Leave it "
                    + "out."
            )
        }
    }

    static func location(_ text: String, flag: String) throws(TextFailure) -> InputLocation {
        guard !text.isEmpty else { throw TextFailure("\(option: flag) is empty: name a file, a URL or test:.") }
        let location: InputLocation
        do throws(SecretReferenceError) {
            location = InputLocation(try SecretReferences.process.expand(text), shownAs: text)
        } catch {
            throw TextFailure("\(option: flag) is not usable: \(error)")
        }
        if let fault = location.fault { throw TextFailure("\(option: flag) is not usable: \(fault)") }
        return location
    }
}

// MARK: The audio input

/// Checks the value of `--audio-input`. A value that can never work is refused before any input is opened, because
/// opening an input may take a long time.
extension InputOptions {
    /// Reads `text`, the value of `--audio-input`.
    private func audioLocation(_ text: String) throws(TextFailure) -> InputLocation {
        let location = try Self.location(text, flag: "--audio-input")
        if location.hasNoAudio {
            throw TextFailure(
                "\(option: "--audio-input") is not usable: \(location) gives no audio. Name an input with audio.")
        }
        if unpaced, location.isLiveByNature == true {
            throw TextFailure(
                "\(option: "--unpaced") is for files: \(location) comes at its own pace. Leave it out.",
                about: OptionReference("--audio-input"))
        }
        return location
    }

    /// Throws if the audio input and another input listen for the same stream, because the other input would then
    /// receive the whole stream.
    private func checkAudioListener(_ configuration: ChannelConfiguration) throws(TextFailure) {
        guard let audio = configuration.audioInput,
            configuration.sources.flatMap(\.inputs).contains(where: { Self.listenForOneStream($0, audio) })
        else { return }
        throw TextFailure(
            "\(option: "--audio-input") is not usable: another \(option: "--input") listens for the same stream. Give "
                + "each its own name.")
    }

    /// Whether both inputs listen for the same stream at the same port. Addresses that cannot be parsed were refused
    /// earlier.
    private static func listenForOneStream(_ one: InputLocation, _ other: InputLocation) -> Bool {
        if let one = try? listenURL(of: one), let other = try? listenURL(of: other) {
            return one.port == other.port && one.hasSameStream(as: other)
        }
        guard let one = srtListener(one), let other = srtListener(other) else { return false }
        return one.port == other.port && one.hasSameStream(as: other)
    }

    private static func srtListener(_ location: InputLocation) -> SRTURL? {
        guard let url = location.srtAddress.flatMap({ try? SRTURL($0, for: .input) }), url.mode == .listener else {
            return nil
        }
        return url
    }
}
