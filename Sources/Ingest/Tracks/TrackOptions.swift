// SPDX-License-Identifier: Apache-2.0

internal import Media
package import Networking

/// The selection of an input's tracks and the treatment of its audio: the options `program=`, `video-track=`,
/// `audio-track=`, `channels=`, `audio=` and `audio-offset=` after the address.
package struct TrackOptions: Sendable, Hashable {
    /// How a track is chosen among those of its kind.
    package enum Track: Sendable, Hashable, CustomStringConvertible {
        /// By its number among the tracks of its kind, from 1.
        case number(Int)
        /// By the language that the container states, such as `eng`. The spelling must be the container's; case is
        /// ignored.
        case language(String)

        package var description: String {
            switch self {
            case .number(let number): "\(number)"
            case .language(let language): language
            }
        }
    }

    /// The number of the program (ISO/IEC 13818-1, 2.4.4.3), or of the variant of a playlist; nil means the program
    /// that contains the video.
    package var program: Int?
    /// The video track; nil means the track that libavformat rates best.
    package var video: Track?
    /// The audio track; nil means the track that libavformat rates best in combination with the video.
    package var audio: Track?
    /// Whether audio is used at all.
    package var hasAudio = true
    /// The channels that become the left and the right channel, counted from 0; nil means that all channels are mixed.
    package var channels: [Int]?
    /// By how much the audio is moved later than in the input; negative to move it earlier. The magnitude is at most
    /// ``longestOffset``.
    package var audioOffset = Duration.zero

    /// Creates the default options: libavformat chooses the tracks, and the audio is not moved.
    package init() {}

    /// The maximum by which audio can be moved. It is less than the 10 s by which a file is read ahead.
    package static let longestOffset = Duration.seconds(5)
    /// The options' names.
    static let names: Set<String> = ["program", "video-track", "audio-track", "channels", "audio", "audio-offset"]

    private enum Answer: String, CaseIterable {
        case yes
        case no
    }

    /// Takes the track options from `options`, and removes them there. Throws one sentence about an option that cannot
    /// be used.
    package init(taking options: inout OptionList) throws(AddressError) {
        program = try options.takeNumber("program", in: 0...65_535).map(Int.init)
        video = try Self.track("video-track", &options)
        audio = try Self.track("audio-track", &options)
        channels = try Self.channels(&options)
        hasAudio = try options.takeChoice("audio", of: Answer.self) != .no
        if !hasAudio, audio != nil || channels != nil {
            throw options.error(in: "audio", "leaves the audio out: leave audio-track= and channels= out, too")
        }
        audioOffset = try Self.offset(&options)
    }

    private static func track(_ name: String, _ options: inout OptionList) throws(AddressError) -> Track? {
        guard let text = try options.take(name) else { return nil }
        if let number = Int(text), (1...100).contains(number) { return .number(number) }
        let isLanguage = text.allSatisfy { $0.isASCII && $0.isLetter || $0 == "-" } && (2...12).contains(text.count)
        guard isLanguage else { throw options.error(in: name, "is a number from 1 to 100, or a language such as eng") }
        return .language(text.lowercased())
    }

    private static func channels(_ options: inout OptionList) throws(AddressError) -> [Int]? {
        guard let text = try options.take("channels") else { return nil }
        let numbers = text.split(separator: "+", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
        guard (1...2).contains(numbers.count), numbers.allSatisfy((1...64).contains) else {
            throw options.error(
                in: "channels", "is the number of a channel for both sides, such as 2, or of two, such as 3+4")
        }
        return [numbers[0] - 1, (numbers.last ?? numbers[0]) - 1]
    }

    private static func offset(_ options: inout OptionList) throws(AddressError) -> Duration {
        guard let text = try options.take("audio-offset") else { return .zero }
        let digits = text.drop { $0 == "+" || $0 == "-" }
        guard text.count - digits.count <= 1, let length = try? DurationText(parsing: String(digits)).duration,
            length <= longestOffset
        else {
            throw options.error(
                in: "audio-offset",
                "is from -\(DurationText(longestOffset)) to \(DurationText(longestOffset)), such as "
                    + "120ms for audio that is to be later, or -40ms")
        }
        return text.hasPrefix("-") ? .zero - length : length
    }
}
