// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Reports to a sink when decoding of the packets that a live source collected before it was placed begins, and when
/// all of them are decoded. Used by the decoding thread.
struct BacklogWatch {
    private let timing: SourceTiming
    private let sink: any SourceSink
    /// The placement whose collected packets are all decoded; nil before the first.
    private var done: Int?
    private var placement: Int?

    /// A watch over the source whose clock is `timing` and that delivers into `sink`.
    init(_ timing: SourceTiming, _ sink: any SourceSink) { (self.timing, self.sink) = (timing, sink) }

    /// Called before each round of decoding.
    mutating func begin() {
        placement = timing.placement
        if placement != nil, placement != done { sink.markBehind() }
    }

    /// Called when no packet was left to decode since ``begin()``.
    mutating func end() {
        guard placement != done else { return }
        done = placement
        if placement != nil { sink.markCaughtUp() }
    }
}
