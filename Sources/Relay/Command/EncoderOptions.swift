// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Channel
internal import Encoder
internal import Media

/// The flags of the encoder session.
struct EncoderOptions: ParsableArguments {
    @Option(help: "x264's preset: speed against efficiency. (default: veryfast)")
    var preset: EncoderSettings.Preset?

    @Option(help: "x264's tuning; zerolatency makes the delay as small as it can be.")
    var tune: EncoderSettings.Tune?

    @Option(help: "H.264 profile. (default: high)")
    var profile: EncoderSettings.Profile?

    @Option(
        help: ArgumentHelp("Bits a second of video, such as 4M or 2500k. (default: 4M)", valueName: "rate"),
        transform: { try EncodingText.bitrate($0, in: 50_000...200_000_000) })
    var videoBitrate: Int?

    @Option(
        help: ArgumentHelp(
            "Constant quality in place of a bitrate, 1 to 51. For recordings alone.", valueName: "factor"))
    var crf: Double?

    @Option(
        help: ArgumentHelp("Longest time between two keyframes. (default: 2s)", valueName: "time"),
        transform: ArgumentParsing.duration)
    var gop: Duration?

    @Option(help: ArgumentHelp("Consecutive B-frames, 0 to 16. (default: 2; 0 with zerolatency)", valueName: "count"))
    var bframes: Int?

    @Option(
        help: ArgumentHelp("Size of the program, such as 1280x720. (default: the input's)", valueName: "size"),
        transform: EncodingText.size)
    var size: FrameSize?

    @Option(
        help: ArgumentHelp(
            "Frames a second, such as 25, 29.97 or 30000/1001. (default: the input's)", valueName: "rate"),
        transform: EncodingText.frameRate)
    var fps: FrameRate?

    @Option(
        help: ArgumentHelp("Bits a second of AAC. (default: 160k)", valueName: "rate"),
        transform: ArgumentParsing.audioBitrate)
    var audioBitrate: Int?

    @Option(
        help: ArgumentHelp(
            "Write a hash of each frame that is encoded into this new file, to compare programs by.",
            valueName: "file"))
    var frameHashes: String?

    /// Throws if values are out of range or contradict each other.
    func check() throws(TextFailure) {
        try ArgumentParsing.check(quality: crf, usual: 23)
        if crf != nil, videoBitrate != nil {
            throw TextFailure(
                "\(option: "--crf") and \(option: "--video-bitrate") exclude each other; give one of them.")
        }
        if let bframes, !(0...16).contains(bframes) {
            throw TextFailure("\(option: "--bframes") must be from 0 to 16.")
        }
        if let bframes, bframes > 0, profile == .baseline {
            throw TextFailure(
                "The baseline profile has no B-frames; use \(option: "--profile") main or \(option: "--bframes") 0.")
        }
        if let gop, gop > .seconds(60) { throw TextFailure("\(option: "--gop") must be at most 60s; 2s is usual.") }
    }

    /// Throws if a flag concerns a track that is passed through without encoding.
    func check(against copying: ChannelConfiguration.Copying, by copyFlag: String) throws(TextFailure) {
        let video: [(String, Bool)] = [
            ("--preset", preset != nil), ("--tune", tune != nil), ("--profile", profile != nil),
            ("--video-bitrate", videoBitrate != nil), ("--crf", crf != nil), ("--gop", gop != nil),
            ("--bframes", bframes != nil), ("--size", size != nil), ("--fps", fps != nil),
            ("--frame-hashes", frameHashes != nil),
        ]
        let audio = [("--audio-bitrate", audioBitrate != nil)]
        let (kind, flags): (String, [(String, Bool)]) =
            switch copying {
            case .nothing: ("", [])
            case .all: ("encoder", video + audio)
            case .video: ("video encoder", video)
            case .audio: ("audio encoder", audio)
            }
        if let flag = flags.first(where: \.1)?.0 {
            throw TextFailure(
                "\(option: flag) is for the \(kind), and \(option: copyFlag) has none. Leave one of them out.")
        }
        if copying == .audio, fps != nil {
            throw TextFailure(
                "With \(option: "--copy-audio") frames keep the input's times: leave \(option: "--fps") out.")
        }
    }

    func apply(to configuration: inout ChannelConfiguration) {
        configuration.encoder.preset = preset ?? .veryfast
        configuration.encoder.tune = tune
        configuration.encoder.profile = profile ?? .high
        configuration.encoder.rateControl = crf.map { .quality($0) } ?? .bitrate(videoBitrate ?? 4_000_000)
        configuration.encoder.gop = gop ?? .seconds(2)
        configuration.encoder.bFrames = bframes
        configuration.encoder.audioBitrate = audioBitrate ?? 160_000
        configuration.size = size
        configuration.frameRate = fps
        configuration.frameHashes = frameHashes
    }
}
