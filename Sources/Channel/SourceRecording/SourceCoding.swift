// SPDX-License-Identifier: Apache-2.0

internal import Encoder
internal import FanOut
internal import Media
internal import Program
internal import Status

/// Makes the packets of a source's recording. All calls may be made on any thread and return at once.
protocol SourceCoding: SourceWatcher, KeyframeRequester {
    /// The tracks of the packets, as far as they are known.
    var description: StreamDescription { get }
    /// Whether the packets are copied or encoded, or none has arrived yet.
    var coding: SourceRecordingStatus.Coding { get }
    /// The encoder's status.
    var status: EncoderStatus { get }
    /// The number of frames that were dropped because the encoder could not keep up, or a keyframe was missing.
    var dropped: Int { get }
    /// The error for which nothing is recorded any more; nil without an error.
    var failure: String? { get }
    /// The reason for which, and the program time in nanoseconds until which, nothing was recorded; nil if nothing is
    /// missing.
    var missing: (reason: String, until: Int64)? { get }
    /// Begins to make packets for `recording`; `completion` is called when all are made, after ``finish()``. To be
    /// called once.
    func start(for recording: Recording, _ completion: @escaping @Sendable () -> Void)
    /// Takes nothing more. Everything that was taken is recorded.
    func finish()
}

extension SourceEncoder: SourceCoding {
    var coding: SourceRecordingStatus.Coding { .encoded }

    func start(for recording: Recording, _ completion: @escaping @Sendable () -> Void) { start(completion) }
}
