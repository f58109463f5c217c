// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Describes where a file of a recording begins.
struct SegmentStart: Sendable {
    /// The keyframe with which the file begins; for a file that contains only audio, its first audio packet.
    var keyframe: EncodedPacket
    /// The audio packet before ``firstAudio``, if it has the same coding; otherwise nil. A file whose container can
    /// hide a packet begins its audio with this one.
    var preRoll: EncodedPacket?
    /// The first audio packet that is not hidden; nil if it has not arrived. It begins with the first visible frame or
    /// after it. In a copied program it can begin earlier, but ends after the start of that frame.
    var firstAudio: EncodedPacket?
    /// The program time at which the file should end; nil if no time is planned.
    var boundary: ProgramInstant?
    /// How much longer than planned the previous file was, because no keyframe arrived; 0 otherwise.
    var lateness = Duration.zero
    /// The start of the visible part, if the file can begin with hidden packets; nil otherwise.
    var shown: ShownStart?

    /// The program time of the first visible frame.
    var time: ProgramInstant { shown?.time ?? keyframe.programPts }
}

/// The start of a file's visible part, for a file that can have hidden packets before it.
struct ShownStart: Sendable {
    /// Presentation time of the first visible frame; the previous file ends here.
    var time: ProgramInstant
    /// The requested start of the file. If no frames are missing, the first visible frame begins within half a frame of
    /// this time.
    var asked: ProgramInstant
    /// Whether the previous file shows the program up to ``time``, so that no part between the two files is missing.
    var continues: Bool
}

/// Decides which packets belong to which file. Implementations have no clock and no I/O: they turn packets into
/// actions.
protocol SegmentCutting {
    /// The planned end of the open file; nil if no time is planned.
    var nextBoundary: ProgramInstant? { get }
    /// Handles the next packet of the interleaved program.
    mutating func push(_ packet: EncodedPacket) -> [SegmentAction]
    /// Ends the program: writes the held packets to their file and closes the file.
    mutating func finish() -> [SegmentAction]
    /// Interrupts the recording: closes the open file. The next file begins at a keyframe.
    mutating func interrupt() -> [SegmentAction]
    /// Handles a packet that is not recorded. An audio packet can become the hidden first packet of the next file.
    mutating func passOver(_ packet: EncodedPacket)
    /// Ends the open file at the next keyframe, and requests that keyframe. Has no effect on a copied program.
    mutating func cutNow() -> [SegmentAction]
    /// Ends the open file at program time `time`, or as soon as possible after it.
    mutating func cut(at time: ProgramInstant)
    /// Begins no file before program time `time`.
    mutating func wait(until time: ProgramInstant)
    /// Sets the wall-clock time of program time 0, in milliseconds.
    mutating func setProgramStart(_ milliseconds: Int64)
}

/// One operation on a file. The recorder carries the actions out in order.
enum SegmentAction: Sendable {
    /// Close the open file, if any, and begin another.
    case open(SegmentStart)
    /// Append to the open file.
    case write(EncodedPacket)
    /// The packet belongs to no file, for example because recording has not begun or is interrupted.
    case skip(EncodedPacket)
    /// Close the open file, and do not begin another.
    case close
    /// Request a keyframe at this program time, or as soon as possible.
    case request(ProgramInstant?)
}

/// Measures, by a track's own timestamps, how much of this track has arrived while the other track was silent.
struct TrackProgress {
    /// The measured amount. A gap in the track's own timestamps counts as at most ``longestStep``, because the other
    /// track might have the same gap.
    var passed = Duration.zero
    private var newest: ProgramInstant?
    private static let longestStep: Duration = .seconds(1)

    /// Counts the next packet of the track.
    mutating func note(_ packet: EncodedPacket) {
        let time = packet.programDts
        if let newest { passed += min(max(.zero, time - newest), Self.longestStep) }
        newest = time
    }
}

extension EncodedPacket {
    /// When the packet's media end.
    var programEnd: ProgramInstant { ProgramInstant(pts + duration, in: timeBase) }
}
