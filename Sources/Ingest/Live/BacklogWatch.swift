// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Reports to a sink when a live source begins to decode its backlog, and when it has decoded all of it. The backlog
/// consists of the packets that arrived before their due times were known. Used by the decoding thread.
struct BacklogWatch {
    private let timing: SourceTiming
    private let sink: any SourceSink
    /// The number of the last placement whose backlog has been decoded; nil before the first, and while the due times
    /// are unknown. A placement happens each time the due times of the source's packets become known.
    private var done: Int?
    private var placement: Int?

    /// Creates a watch over the source whose clock is `timing`. The source delivers into `sink`.
    init(_ timing: SourceTiming, _ sink: any SourceSink) { (self.timing, self.sink) = (timing, sink) }

    /// Called before each round of decoding: a round decodes at most one frame and one run of audio samples.
    mutating func begin() {
        placement = timing.placement
        if placement != nil, placement != done { sink.markBehind() }
    }

    /// Called after a round that has decoded nothing, because no packet is due.
    mutating func end() {
        guard placement != done else { return }
        done = placement
        if placement != nil { sink.markCaughtUp() }
    }
}
