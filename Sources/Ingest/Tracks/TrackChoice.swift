// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// The streams of an open input that an operator's ``TrackOptions`` select.
struct TrackChoice {
    let video: StreamInfo?
    let audio: StreamInfo?
    /// The audio tracks other than the one that is used, such as `audio track 2 (AAC, deu)`; empty if audio is excluded
    /// by an option.
    let others: [String]

    /// Chooses from the streams that `demuxer` found. If a requested track does not exist, throws
    /// ``IngestError/invalidOption(input:reason:)`` with a list of the tracks that the input has.
    init(_ options: TrackOptions, from demuxer: Demuxer, input: String) throws(IngestError) {
        var streams = demuxer.streams
        if let number = options.program {
            guard let program = demuxer.programs.first(where: { $0.number == number }) else {
                let known = demuxer.programs.map(\.description)
                let reason = known.isEmpty ? "it has no programs" : "it has \(Self.list(known))"
                throw .invalidOption(input: input, reason: "there is no program \(number) in it; \(reason)")
            }
            streams = streams.filter { program.streams.contains($0.index) }
        }
        let frames = streams.filter { $0.kind == .video }
        let video = try Self.pick(options.video, of: frames, "video", input) ?? Self.best(demuxer.bestVideo, frames)
        if options.program == nil, let video, let program = demuxer.programs.first(where: { $0.holds(video) }) {
            streams = streams.filter(program.holds)
        }
        let tracks = streams.filter { $0.kind == .audio }
        let chosen = try Self.pick(options.audio, of: tracks, "audio", input)
        self.video = video
        guard options.hasAudio else {
            (audio, others) = (nil, [])
            return
        }
        let audio = chosen ?? Self.best(demuxer.bestAudio(beside: video), tracks)
        self.audio = audio
        others = tracks.enumerated().filter { $1.index != audio?.index }.map { number, stream in
            let traits = [stream.codecTitle] + stream.languages
            return "audio track \(number + 1) (\(traits.joined(separator: ", ")))"
        }
        try Self.check(options.channels, of: audio, input)
    }

    /// The stream that libavformat chose, if it is one of `streams`; otherwise the first of `streams` whose properties
    /// are known, or the first of all.
    private static func best(_ choice: StreamInfo?, _ streams: [StreamInfo]) -> StreamInfo? {
        streams.first { $0.index == choice?.index } ?? streams.first { $0.video?.width ?? $0.channels > 0 }
            ?? streams.first
    }

    private static func pick(
        _ track: TrackOptions.Track?, of streams: [StreamInfo], _ kind: String, _ input: String
    ) throws(IngestError) -> StreamInfo? {
        switch track {
        case nil: return nil
        case .number(let number) where streams.indices.contains(number - 1): return streams[number - 1]
        case .number: break
        case .language(let language):
            if let found = streams.first(where: { $0.languages.contains(language) }) { return found }
        }
        let known = streams.enumerated().map { index, stream in "\(index + 1) (\(stream.summary))" }
        let reason = known.isEmpty ? "there is none" : "there \(known.count == 1 ? "is" : "are") \(list(known))"
        throw .invalidOption(
            input: input, reason: "there is no \(kind) track \(track?.description ?? "") in it; \(reason)")
    }

    private static func check(_ channels: [Int]?, of audio: StreamInfo?, _ input: String) throws(IngestError) {
        guard let highest = channels?.max() else { return }
        guard let audio else { throw .invalidOption(input: input, reason: "channels= is given, and it has no audio") }
        guard audio.channels > 0, highest >= audio.channels else { return }
        let count = audio.channels == 1 ? "1 channel" : "\(audio.channels) channels"
        throw .invalidOption(
            input: input, reason: "there is no channel \(highest + 1) in its audio, which has \(count)")
    }

    private static func list(_ words: [String]) -> String {
        guard let last = words.last, words.count > 1 else { return words.first ?? "" }
        return "\(words.dropLast().joined(separator: ", ")) and \(last)"
    }
}

extension Demuxer.Program {
    fileprivate func holds(_ stream: StreamInfo) -> Bool { streams.contains(stream.index) }

    fileprivate var description: String { name.map { "\(number) (\($0))" } ?? "\(number)" }
}

extension StreamInfo {
    /// The properties that distinguish a track from others of its kind: its languages, if stated, and its codec.
    fileprivate var summary: String { (languages + [codecName]).joined(separator: ", ") }
}
