// SPDX-License-Identifier: Apache-2.0

internal import Channel
internal import Ingest
internal import Logging
internal import Media
internal import Program
internal import Studio

/// Finds out how long the show of a run-down is.
struct RenderLength {
    /// The show's length, at most `--duration`. Nil if `--duration` is not given and the length of a part of the show
    /// is unknown.
    let duration: Duration?

    /// Opens each file of the run-down to read its length. May also open the first input to read its frame rate. Blocks
    /// on the disk. Throws ``ChannelFailure`` for a file that cannot be opened and, unless `--duration` is given, for a
    /// show without an end.
    init(_ configuration: ChannelConfiguration) throws(ChannelFailure) {
        var total: Duration? = .zero
        let runDown = configuration.runDown
        let rate = try Self.rate(configuration)
        for segment in runDown?.segments ?? [] {
            let file = try segment.clip.map { (clip) throws(ChannelFailure) in
                try Self.length(of: clip, in: segment.name)
            }
            let length: Duration? =
                switch segment.length {
                case .time(let duration): duration
                case .frames(let count): rate.map { $0.timeBase.duration(count) }
                case .end: file ?? nil
                case .take: try Self.endless("lasts until somebody says so", segment.name, configuration)
                }
            total = length.flatMap { length in total.map { $0 + length } }
        }
        if runDown?.loops == true {
            total = try Self.endless("begins again at its end", runDown?.name ?? "", configuration)
        }
        duration = configuration.duration.map { limit in total.map { min($0, limit) } ?? limit } ?? total
    }

    /// Returns the frame rate that converts lengths in frames to time: from the flags, or from the first input, or,
    /// without inputs, from the first file. Returns nil if no segment's length is a number of frames, or if the rate is
    /// unknown.
    private static func rate(_ configuration: ChannelConfiguration) throws(ChannelFailure) -> FrameRate? {
        let segments = configuration.runDown?.segments ?? []
        guard segments.contains(where: \.isCounted) else { return nil }
        if let rate = configuration.frameRate { return rate }
        guard let input = configuration.sources.first?.input else {
            let first = segments.first { $0.clip != nil }
            return try first?.clip.map { clip throws(ChannelFailure) in
                try opened(clip, in: first?.name ?? "") { $1.frameRate }
            }
        }
        do throws(IngestError) {
            let source = try SourceOpener.open(input, options: IngestOptions(), logger: Logger(label: "relay"))
            defer { source.stop() }
            return source.description.video?.frameRate
        } catch {
            throw ChannelFailure(.inputUnreadable, .openInput("\(input)"), saidBy: error)
        }
    }

    private static func endless(
        _ what: String, _ name: String, _ configuration: ChannelConfiguration
    ) throws(ChannelFailure) -> Duration? {
        guard configuration.duration == nil else { return nil }
        throw ChannelFailure(
            .configuration, .playRunDown, saying: "\(name) \(what): say by --duration how long it is to be.")
    }

    /// Returns the length of a file from the clip's start on; nil if it is unknown.
    private static func length(of clip: RunDown.Clip, in segment: String) throws(ChannelFailure) -> Duration? {
        try opened(clip, in: segment) { source, _ in source.description.duration.map { max(.zero, $0 - clip.start) } }
    }

    private static func opened<Value>(
        _ clip: RunDown.Clip, in segment: String, _ read: (any MediaSource, VideoFormat) -> Value
    ) throws(ChannelFailure) -> Value {
        let logger = Logger(label: "relay")
        do {
            let (source, video) = try RunDownClip.open(clip, opening: SourceOpening(logger: logger), logger: logger)
            defer { source.stop() }
            return read(source, video)
        } catch {
            throw ChannelFailure(
                .inputUnreadable, .openInput(clip.path), saying: "\(segment): \(error)", error: error)
        }
    }
}

extension RunDown.Segment {
    /// Whether the segment's length is given as a number of frames.
    fileprivate var isCounted: Bool {
        if case .frames = length { true } else { false }
    }
}
