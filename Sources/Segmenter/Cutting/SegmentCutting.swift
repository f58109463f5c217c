// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Where a file of a recording begins.
struct SegmentStart: Sendable {
    /// The frame that the file begins with.
    var keyframe: EncodedPacket
    /// The last audio packet that begins before the frame: the hidden first one of the file.
    var preRoll: EncodedPacket?
    /// The first audio packet that begins with the frame or after it; nil if no such packet came.
    var firstAudio: EncodedPacket?
    /// Nanoseconds of program time at which the recorder wants the file to end; nil if only its size matters.
    var boundary: Int64?
    /// By how many nanoseconds the previous file is longer than it should be, because no keyframe came.
    var lateness: Int64 = 0
    /// What the file shows first, if it begins with packets that are not shown.
    var shown: ShownStart?

    /// Program time of what the file shows first, in nanoseconds.
    var time: Int64 { shown?.time ?? keyframe.ptsNanoseconds }
}

/// Where a file that begins before what it shows is cut from the previous one. Times are nanoseconds of program time.
struct ShownStart: Sendable {
    /// Presentation time of the first visible frame; the previous file ends here.
    var time: Int64
    /// The time at which the file was to begin, within half a frame.
    var asked: Int64
    /// Whether the previous file extends up to here.
    var continues: Bool
}

/// Decides which packets belong to which file. Pure: packets in, actions out.
protocol SegmentCutting {
    /// The program time in nanoseconds at which the open file is to end.
    var nextBoundary: Int64? { get }
    /// Takes the next packet of the interleaved program.
    mutating func push(_ packet: EncodedPacket) -> [SegmentAction]
    /// The program is over: what is held goes to its file, and that is closed.
    mutating func finish() -> [SegmentAction]
    /// Recording is interrupted: the open file is closed, and a keyframe begins the next.
    mutating func interrupt() -> [SegmentAction]
    /// Remembers audio that was not recorded, so that it can be the hidden packet of the next file.
    mutating func passOver(_ packet: EncodedPacket)
    /// Ends the open file as soon as may be.
    mutating func cutNow() -> [SegmentAction]
    /// Ends the open file at program time `time`, in nanoseconds, or as soon after it as may be.
    mutating func cut(at time: Int64)
    /// Begins no file before program time `time`, in nanoseconds.
    mutating func wait(until time: Int64)
    /// When the program's time was 0, in milliseconds of the wall clock.
    mutating func setProgramStart(_ milliseconds: Int64)
}

/// What to do with a file, in order.
enum SegmentAction: Sendable {
    /// Close the open file, if any, and begin another.
    case open(SegmentStart)
    /// Append to the open file.
    case write(EncodedPacket)
    /// The packet belongs to no file: recording has not begun or is interrupted.
    case skip(EncodedPacket)
    /// Close the open file; nothing follows for now.
    case close
    /// Ask for a keyframe at this program time in nanoseconds, or as soon as possible.
    case request(Int64?)
}
