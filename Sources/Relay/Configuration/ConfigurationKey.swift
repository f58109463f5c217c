// SPDX-License-Identifier: Apache-2.0

internal import Channel
internal import Networking
internal import Program
internal import Publisher
internal import Studio

/// A key of a channel in a configuration file, and the equivalent flag. All rules for a channel's settings are written
/// for flags. A file is converted to flags, so that the same rules check both.
struct ConfigurationKey {
    /// The values that a key may have.
    enum Form: Equatable {
        /// The same text as the value of the flag.
        case text
        /// The same text as the value of the flag, or a number of seconds.
        case time
        /// `true` if the flag is given, `false` if it is not.
        case isGiven
        /// A word that selects one of several flags without a value. A word without a flag stands for the default.
        case choice([String: String?])
    }

    /// The path of keys relative to the channel, separated by dots.
    let path: String
    /// The flag; empty for a choice between flags.
    let flag: String
    let form: Form

    init(_ path: String, _ flag: String, _ form: Form = .text) {
        (self.path, self.flag, self.form) = (path, flag, form)
    }

    /// Whether the key concerns the recording, its retention or its uploads.
    var isOfRecording: Bool { path.hasPrefix("recording.") }

    /// All keys except `input`, `inputs` and `outputs`, whose options are ``AddressOption/ofInput`` and
    /// ``AddressOption/ofOutput``, and except ``mappings``.
    static let all: [ConfigurationKey] = [
        .init("name", "--channel"),
        .init("duration", "--duration", .time),
        .init("loop", "--loop", .isGiven),
        .init("unpaced", "--unpaced", .isGiven),
        .init("audioInput", "--audio-input"),
        .init("audioFrom", "--audio-from"),
        .init("rundown", "--rundown"),
        .init("slate", "--slate"),
        .init(
            "copy", "", .choice(["all": "--copy", "video": "--copy-video", "audio": "--copy-audio", "nothing": nil])),
        .init("onPublish", "--on-publish"),
        .init("onPlay", "--on-play"),
        .init("tls.certificate", "--tls-cert"),
        .init("tls.key", "--tls-key"),
        .init("tls.authorities", "--tls-ca"),
        .init("encoder.preset", "--preset"),
        .init("encoder.tune", "--tune"),
        .init("encoder.profile", "--profile"),
        .init("encoder.videoBitrate", "--video-bitrate"),
        .init("encoder.crf", "--crf"),
        .init("encoder.gop", "--gop", .time),
        .init("encoder.bFrames", "--bframes"),
        .init("encoder.size", "--size"),
        .init("encoder.frameRate", "--fps"),
        .init("encoder.audioBitrate", "--audio-bitrate"),
        .init("encoder.frameHashes", "--frame-hashes"),
        .init("monitor.loudness", "--loudness"),
        .init("monitor.meter", "--meter", .isGiven),
        .init("monitor.silenceAlarm", "--silence-alarm", .time),
        .init("monitor.silenceLevel", "--silence-level"),
        .init("monitor.blackAlarm", "--black-alarm", .time),
        .init("monitor.blackLevel", "--black-level"),
        .init("monitor.frozenAlarm", "--frozen-alarm", .time),
        .init("monitor.frozenLevel", "--frozen-level"),
        .init("recording.directory", "--record"),
        .init("recording.also", "--record-also"),
        .init("recording.mount", "", .choice(["true": "--record-mount", "false": "--no-record-mount"])),
        .init("recording.segment", "--segment", .time),
        .init("recording.align", "--segment-align"),
        .init("recording.format", "--record-format"),
        .init("recording.name", "--record-name"),
        .init("recording.timezone", "--timezone"),
        .init("recording.sources", "--record-sources", .isGiven),
        .init("recording.rendition", "--record-rendition"),
        .init("recording.sourceCoding", "--source-coding"),
        .init("recording.replay", "--replay", .time),
        .init("recording.clipsOnly", "--clips-only", .isGiven),
        .init("recording.sync", "--sync", .time),
        .init("recording.expect", "--expect", .time),
        .init("recording.diskWarn", "--disk-warn", .time),
        .init("recording.diskReserve", "--disk-reserve"),
        .init("recording.upload", "--upload"),
        .init("recording.uploadLimit", "--upload-limit"),
        .init("recording.onSegment", "--on-segment"),
        .init("recording.keep", "--keep", .time),
        .init("recording.keepSize", "--keep-size"),
        .init("recording.keepFree", "--keep-free"),
        .init("recording.keepMin", "--keep-min", .time),
    ]

    /// The key that is equivalent to a flag; nil if there is no such key.
    static func path(of flag: String) -> String? {
        switch flag {
        case "--input": return "input"
        case "--output", "--rtmp", "--srt": return "outputs"
        case "--rendition": return "renditions"
        case "--scene": return "scenes"
        case "--overlay": return "overlays"
        case "--stinger": return "stingers"
        default: break
        }
        let key = all.first { key in
            if case .choice(let flags) = key.form { return flags.values.contains(flag) }
            return key.flag == flag
        }
        return key?.path
    }

    /// Keys whose values are mappings of names.
    static let mappings = ["renditions", "scenes", "overlays", "stingers"]

    /// The words that may be keys in a configuration file.
    static let words = wordsOutsideHTTP.union(
        ConfigurationReader.httpKeys + ConfigurationReader.webhookKeys + ConfigurationReader.tokenKeys)

    /// The words that may be keys outside of the mapping `http`.
    private static let wordsOutsideHTTP = Set(
        all.flatMap { $0.path.split(separator: ".").map(String.init) }
            + (AddressOption.ofInput + AddressOption.ofOutput).map(\.key)
            + SceneLayout.keys + SceneLayout.Inset.keys
            + ConfigurationReader.overlayKeys + ConfigurationReader.stingerKeys
            + ConfigurationReader.renditionOptions.map(\.key) + mappings
            + RunDownReader.keys + RunDownReader.segmentKeys + RunDownReader.transitionKeys
            + [
                "channels", "log", "http", "input", "inputs", "outputs", "address", "format", "verbose", "status",
            ])

    /// Flags that are not in ``all``, except `--input` and `--output`. The addresses of `--rtmp` and `--srt` are
    /// entries of `outputs` in a file; scenes, overlays, stingers and renditions are mappings; the other flags concern
    /// the process or the command line.
    static let flagsWithoutKey: Set = [
        "--rendition", "--scene", "--overlay", "--stinger", "--rtmp", "--srt", "--http", "--http-socket",
        "--http-token", "--webhook", "--log-format", "--no-status",
        "--verbose", "--config", "--help", "--version",
    ]
}

extension AddressOption {
    private static let tracks: [AddressOption] = [
        .init("program", "program"), .init("videoTrack", "video-track"), .init("audioTrack", "audio-track"),
        .init("channels", "channels"), .init("audio", "audio", .answer), .init("audioOffset", "audio-offset", .time),
        .init("latency", "latency", .time), .init("pixelFormat", "pixel-format"), .init("sampleRate", "sample-rate"),
        .init("captureChannels", "capture-channels"), .init("header", "header"), .init("transport", "transport"),
    ]
    /// The options of a backup input, and of the input of `--audio-input`.
    static let ofBackup: [AddressOption] = tracks + [.init("reference", "reference", .answer)]
    static let ofInput: [AddressOption] =
        ofBackup + [
            .init("name", "name"), .init("timeout", "timeout", .time),
            .init("standby", "standby"), .init("return", "return", .time), .init("whenOff", "when-off"),
            .init("gain", "gain"), .init("muted", "muted", .answer),
            .init("backups", "backup", .addresses),
        ]
    /// The options of outputs of all kinds. Several kinds may have an option with the same name.
    static let ofOutput: [AddressOption] = (OutputSpecification.options + OutputKind.all.flatMap(\.options))
        .reduce(into: []) { options, option in
            if !options.contains(where: { $0.key == option.key }) { options.append(option) }
        }
}
