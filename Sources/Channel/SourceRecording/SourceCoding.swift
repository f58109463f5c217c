// SPDX-License-Identifier: Apache-2.0

internal import Encoder
internal import FanOut
internal import Media
internal import Program
internal import Status

/// Makes the packets of a source's recording. All calls may be made on any thread and return at once.
protocol SourceCoding: SourceWatcher, KeyframeRequester {
    /// The tracks of the recording's packets, as far as they are known.
    var description: StreamDescription { get }
    /// Whether the recording's packets are copied or encoded, or no packet has arrived yet.
    var coding: SourceRecordingStatus.Coding { get }
    /// The encoder's status.
    var status: EncoderStatus { get }
    /// The number of frames that were dropped because the encoder could not keep up, or because a keyframe was missing.
    var dropped: Int { get }
    /// The error that ended the recording; nil if there was no error.
    var failure: String? { get }
    /// Why nothing was recorded, and until which moment of the program; nil if nothing is missing.
    var missing: (reason: String, until: ProgramInstant)? { get }
    /// Begins to make packets for `recording`. `completion` is called when all packets are made: after ``finish()``, or
    /// possibly earlier if the encoder fails. To be called once.
    func start(for recording: Recording, _ completion: @escaping @Sendable () -> Void)
    /// Accepts no more input. The input that was accepted before is still recorded.
    func finish()
}

extension SourceEncoder: SourceCoding {
    var coding: SourceRecordingStatus.Coding { .encoded }

    func start(for recording: Recording, _ completion: @escaping @Sendable () -> Void) { start(completion) }
}
