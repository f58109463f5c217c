// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Tells a sink when what was collected of a live source before it was placed is being decoded, and when all of it is.
/// Used by the thread that decodes.
struct BacklogWatch {
    private let timing: SourceTiming
    private let sink: any SourceSink
    /// The placement of which everything that was collected is decoded.
    private var done: Int?
    private var placement: Int?

    /// A watch of the source of `timing`, which delivers into `sink`.
    init(_ timing: SourceTiming, _ sink: any SourceSink) { (self.timing, self.sink) = (timing, sink) }

    /// What can be decoded is decoded next.
    mutating func begin() {
        placement = timing.placement
        if placement != nil, placement != done { sink.markBehind() }
    }

    /// There was nothing to be decoded since ``begin()``.
    mutating func end() {
        guard placement != done else { return }
        done = placement
        if placement != nil { sink.markCaughtUp() }
    }
}
