// SPDX-License-Identifier: Apache-2.0

internal import Encoder
internal import FanOut
internal import Media
internal import Program
internal import Status

/// Makes the packets that are recorded of a source. All calls may come from any thread and return at once.
protocol SourceCoding: SourceWatcher, KeyframeRequester {
    /// What comes out, as far as it is known.
    var description: StreamDescription { get }
    /// How it is made.
    var coding: SourceRecordingStatus.Coding { get }
    /// What there is to know of the encoder.
    var status: EncoderStatus { get }
    /// Frames that were left out because the encoder could not keep up, or a keyframe was missing.
    var dropped: Int { get }
    /// Why nothing is recorded any more; nil if that is not so.
    var failure: String? { get }
    /// Why and until which time of the program, in nanoseconds, what was to be recorded is not; nil if it is.
    var missing: (reason: String, until: Int64)? { get }
    /// Begins to make packets for `recording`; `completion` is called when all are made, after ``finish()``. Once.
    func start(for recording: Recording, _ completion: @escaping @Sendable () -> Void)
    /// Takes nothing more. What was taken is recorded.
    func finish()
}

extension SourceEncoder: SourceCoding {
    var coding: SourceRecordingStatus.Coding { .encoded }

    func start(for recording: Recording, _ completion: @escaping @Sendable () -> Void) { start(completion) }
}
