// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Logging
internal import Media
internal import Program

/// How long a show will be.
struct RenderLength {
    /// Nil where a file does not say how long it is.
    let duration: Duration?

    /// Opens each file of the run-down. Blocks on the disk. Throws ``RelayFailure`` for one that cannot be shown, and for a
    /// show without an end.
    init(_ configuration: ChannelConfiguration) throws(RelayFailure) {
        var total: Duration? = .zero
        let runDown = configuration.runDown
        for segment in runDown?.segments ?? [] {
            let file = try segment.clip.map { (clip) throws(RelayFailure) in try Self.length(of: clip, in: segment.name)
            }
            let length: Duration? =
                switch segment.length {
                case .time(let duration): duration
                case .frames(let count): configuration.frameRate.map { $0.timeBase.duration(count) }
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

    private static func endless(
        _ what: String, _ name: String, _ configuration: ChannelConfiguration
    ) throws(RelayFailure) -> Duration? {
        guard configuration.duration == nil else { return nil }
        throw RelayFailure(.usage, "\(name) \(what): say by --duration how long it is to be.")
    }

    /// What is left of a file; nil if it does not say.
    private static func length(of clip: RunDown.Clip, in segment: String) throws(RelayFailure) -> Duration? {
        let logger = Logger(label: "relay")
        do {
            let (source, _) = try RunDownClip.open(clip, opening: SourceOpening(logger: logger), logger: logger)
            defer { source.stop() }
            return source.description.duration.map { max(.zero, $0 - clip.start) }
        } catch {
            throw RelayFailure(.inputUnreadable, "\(segment): \(error)")
        }
    }
}
