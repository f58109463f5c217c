// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import ArgumentParser
internal import Channel
internal import Encoder
internal import LibAV
internal import MP4
internal import Media
internal import Stitcher

/// Options for the result of `relay stitch`.
struct StitchOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Size of the result: first (of the clips), smallest, or such as 1280x720.", valueName: "size"),
        transform: Self.size)
    var size: StitchSettings.Size = .first

    @Option(
        help: ArgumentHelp(
            "Frames a second of the result, such as 25, 29.97 or 30000/1001. (default: the first clip's)",
            valueName: "rate"),
        transform: EncodingText.frameRate)
    var fps: FrameRate?

    @Option(help: "How frames of another shape are fitted: contain (bars), cover (cut off) or stretch.")
    var fit = FrameFitting.contain

    @Option(help: "What the result is like: mp4, mov or fragmented (MP4). (default: by the output's name)")
    var format: MovieForm?

    @Option(
        help: ArgumentHelp(
            "How each clip comes on: such as fade, wipe-left:0.5s or push-up:2s:in-out. (default: cut)",
            valueName: "transition"),
        transform: StitchInput.transition)
    var transition: StitchTransition?

    @Flag(help: "Put the files in the order of their names, numbers as numbers.")
    var byName = false

    @Flag(help: "Put the files in the order in which they were recorded, as they or their names say.")
    var byTime = false

    @Option(help: "x264's preset for frames that are coded again. (default: veryfast)")
    var preset: EncoderSettings.Preset?

    @Option(help: ArgumentHelp("Quality of frames that are coded again, 1 to 51. (default: 18)", valueName: "factor"))
    var crf: Double?

    @Option(
        help: ArgumentHelp(
            "Which AAC is copied: auto (where frames keep their rate, and that of clips of a minute and more, whose frames "
                + "may come up to 12 ms later or sooner for it), copy (whatever can be) or encode (none)."))
    var audio = StitchAudio.automatic

    @Option(
        help: ArgumentHelp("Bits a second of AAC that is coded again. (default: 160k)", valueName: "rate"),
        transform: ArgumentParsing.audioBitrate)
    var audioBitrate: Int?

    @Option(
        help: ArgumentHelp(
            "Free space that is left on the disk. (default: 1GiB, but at most a tenth of the disk)", valueName: "size"),
        transform: ByteSize.init(parsing:))
    var diskReserve: ByteSize?

    func validate() throws {
        if byName, byTime { throw ValidationError("--by-name and --by-time exclude each other; give one of them.") }
        try ArgumentParsing.usage { try ArgumentParsing.check(quality: crf, usual: 18) }
    }

    var order: StitchOrder { byTime ? .byTime : byName ? .byName : .given }

    var settings: StitchSettings {
        var settings = StitchSettings()
        (settings.size, settings.rate, settings.fitting, settings.audio) = (size, fps, fit, audio)
        if let preset { settings.encoder.preset = preset }
        if let crf { settings.encoder.rateControl = .quality(crf) }
        if let audioBitrate { settings.encoder.audioBitrate = audioBitrate }
        return settings
    }

    /// Returns how many bytes the command must leave free on the disk of `output`.
    func reserve(for output: String) -> Int64 {
        if let diskReserve { return diskReserve.bytes }
        let slash = output.lastIndex(of: "/")
        let space = try? SystemFreeSpace().space(at: slash.map { String(output[...$0]) } ?? ".")
        return min(1 << 30, (space?.capacity ?? 0) / 10)
    }

    /// File name extensions of containers that `relay stitch` cannot write.
    private static let others: Set<String> = [
        "mkv", "webm", "ts", "m2ts", "mts", "flv", "avi", "mpg", "mpeg", "wmv", "mxf", "ogg", "ogv", "gif",
    ]

    /// Returns why the result must not be called `output`, in one sentence; nil if it may be.
    func objection(to output: String) -> String? {
        let name = output.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: "."), Self.others.contains(name[dot...].dropFirst().lowercased()) else {
            return nil
        }
        return "\(output) says \(name[dot...].dropFirst()), which is not made: name a file that ends with .mp4 or .mov."
    }

    /// Returns the file format of `output`.
    func form(of output: String) -> MovieForm { format ?? (output.lowercased().hasSuffix(".mov") ? .mov : .mp4) }

    private static func size(_ text: String) throws -> StitchSettings.Size {
        switch text {
        case "first": .first
        case "smallest": .smallest
        default: .exactly(try EncodingText.size(text))
        }
    }
}

extension FrameFitting: ExpressibleByArgument {}
extension MovieForm: ExpressibleByArgument {}
extension StitchAudio: ExpressibleByArgument {}
