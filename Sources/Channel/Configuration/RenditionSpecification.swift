// SPDX-License-Identifier: Apache-2.0

package import Encoder
package import Media
internal import Networking

/// A rendition in the syntax of the rendition flag: `name#video-bitrate=12M,gop=1s,size=1280x720`. Options that are not
/// given have the values of the program's own encoding.
package struct RenditionSpecification: Sendable, Equatable {
    /// The maximum number of renditions of a program.
    package static let most = 8

    package let name: String
    private var size: FrameSize?
    private var preset: EncoderSettings.Preset?
    /// `nil` means that no tune was given; `.some(nil)` is the value `none`.
    private var tune: EncoderSettings.Tune??
    private var profile: EncoderSettings.Profile?
    private var videoBitrate: Int?
    private var gop: Duration?
    private var bFrames: Int?
    private var audioBitrate: Int?

    /// Parses the rendition in `text`.
    package init(_ text: String) throws(TextFailure) {
        guard let match = text.wholeMatch(of: /([A-Za-z0-9._-]{1,40})#(.+)/) else {
            throw TextFailure(
                "\(option: "--rendition") is NAME#OPTION=VALUE,…, such as "
                    + "archive#video-bitrate=12M,gop=1s,size=1280x720."
            )
        }
        name = String(match.output.1)
        do {
            var options = try OptionList(behindMark: match.output.2, of: "rendition") { $0 }
            try take(from: &options)
            try options.finish()
        } catch {
            throw TextFailure("\(option: "--rendition", .name(name)): \(error)")
        }
    }

    private mutating func take(from options: inout OptionList) throws {
        size = try Self.value(of: "size", in: &options, EncodingText.size)
        preset = try options.takeChoice("preset")
        tune = try Self.value(of: "tune", in: &options, Self.tune)
        profile = try options.takeChoice("profile")
        videoBitrate = try Self.value(of: "video-bitrate", in: &options) {
            try EncodingText.bitrate($0, in: 50_000...200_000_000)
        }
        gop = try options.takeTime("gop", in: .milliseconds(100)...(.seconds(60)))
        bFrames = try options.takeNumber("bframes", in: 0...16).map { Int($0) }
        audioBitrate = try Self.value(of: "audio-bitrate", in: &options) {
            try EncodingText.bitrate($0, in: 32_000...512_000)
        }
    }

    private static func tune(_ text: String) throws -> EncoderSettings.Tune? {
        if text == "none" { return nil }
        guard let tune = EncoderSettings.Tune(rawValue: text) else {
            let words = EncoderSettings.Tune.allCases.map(\.rawValue).joined(separator: ", ")
            throw TextFailure("It is one of \(words), or none.")
        }
        return tune
    }

    /// Returns the value of `option`, which `read` parses; nil if the option is not given. Errors name the option.
    private static func value<Value>(
        of option: String, in options: inout OptionList, _ read: (String) throws -> Value
    ) throws -> Value? {
        guard let text = try options.take(option) else { return nil }
        do {
            return try read(text)
        } catch {
            throw AddressError("\(option)=: \(error)")
        }
    }

    /// Returns the rendition's settings. Settings that are not given are taken from `program`, the program's own
    /// encoding.
    package func settings(beside program: EncoderSettings) -> EncoderSettings {
        var settings = program
        settings.preset = preset ?? program.preset
        settings.tune = tune ?? program.tune
        settings.profile = profile ?? program.profile
        settings.rateControl = videoBitrate.map { .bitrate($0) } ?? program.rateControl
        settings.gop = gop ?? program.gop
        settings.bFrames = bFrames ?? program.bFrames
        settings.audioBitrate = audioBitrate ?? program.audioBitrate
        return settings
    }

    /// Returns the format of the rendition's frames for a program of `format`. If the rendition's size differs from the
    /// program's, the rendition has square pixels. Its colors are always those of the program.
    func format(of format: VideoFormat) -> VideoFormat {
        guard let size, size != FrameSize(width: format.width, height: format.height) else { return format }
        var scaled = format
        (scaled.width, scaled.height, scaled.sampleAspectRatio) = (size.width, size.height, .square)
        scaled.color = format.color.resolved(width: format.width, height: format.height)
        return scaled
    }

    /// Returns the rendition's frame size, by default `program`, the size of the program; nil means that the input
    /// determines it.
    package func frameSize(beside program: FrameSize?) -> FrameSize? { size ?? program }
}

extension [RenditionSpecification] {
    /// A sentence stating that no rendition has this name, and listing those that exist.
    package func unknown(_ name: String) -> OptionSentence { Self.unknown(name, among: map(\.name)) }

    /// Builds the sentence of ``unknown(_:)`` from the names of the renditions.
    static func unknown(_ name: String, among names: [String]) -> OptionSentence {
        guard let last = names.last else {
            return "There is no rendition \(name), nor any other: see \(option: "--rendition")."
        }
        let list = names.count > 1 ? "are \(names.dropLast().joined(separator: ", ")) and \(last)" : "is \(last)"
        return "There is no rendition \(name); there \(list)."
    }
}
