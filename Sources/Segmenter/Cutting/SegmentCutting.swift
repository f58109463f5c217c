// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Describes where a file of a recording begins.
struct SegmentStart: Sendable {
    /// The frame that the file begins with.
    var keyframe: EncodedPacket
    /// The last audio packet that begins before the frame: the hidden first packet of the file.
    var preRoll: EncodedPacket?
    /// The first audio packet that begins with the frame or after it; nil if no such packet came.
    var firstAudio: EncodedPacket?
    /// Nanoseconds of program time at which the recorder wants the file to end; nil if only its size matters.
    var boundary: Int64?
    /// By how many nanoseconds the previous file is too long because no keyframe came.
    var lateness: Int64 = 0
    /// Where the visible part begins, if the file begins with hidden packets.
    var shown: ShownStart?

    /// Program time of the first visible frame, in nanoseconds.
    var time: Int64 { shown?.time ?? keyframe.ptsNanoseconds }
}

/// Where the visible part of a file begins if the file has hidden packets before it. Times are nanoseconds of program
/// time.
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
    /// The planned end of the open file, in nanoseconds of program time.
    var nextBoundary: Int64? { get }
    /// Takes the next packet of the interleaved program.
    mutating func push(_ packet: EncodedPacket) -> [SegmentAction]
    /// Ends the program: writes the held packets to their file and closes it.
    mutating func finish() -> [SegmentAction]
    /// Interrupts the recording: closes the open file; the next one begins at a keyframe.
    mutating func interrupt() -> [SegmentAction]
    /// Remembers audio that was not recorded, so that it can be the hidden packet of the next file.
    mutating func passOver(_ packet: EncodedPacket)
    /// Ends the open file as soon as possible.
    mutating func cutNow() -> [SegmentAction]
    /// Ends the open file at program time `time`, in nanoseconds, or as soon after it as possible.
    mutating func cut(at time: Int64)
    /// Begins no file before program time `time`, in nanoseconds.
    mutating func wait(until time: Int64)
    /// Sets the wall-clock time of program time 0, in milliseconds.
    mutating func setProgramStart(_ milliseconds: Int64)
}

/// One thing to do with a file; the actions are carried out in order.
enum SegmentAction: Sendable {
    /// Close the open file, if any, and begin another.
    case open(SegmentStart)
    /// Append to the open file.
    case write(EncodedPacket)
    /// The packet belongs to no file: recording has not begun or is interrupted.
    case skip(EncodedPacket)
    /// Close the open file; packets have stopped arriving.
    case close
    /// Ask for a keyframe at this program time in nanoseconds, or as soon as possible.
    case request(Int64?)
}

/// Measures how much of one track came, by its own timestamps, while the other track was silent.
struct TrackProgress {
    /// In nanoseconds. A hole in the track's own timestamps counts as at most ``longestStep``, because the other track
    /// may have the same hole.
    var passed: Int64 = 0
    private var newest: Int64?
    private static let longestStep: Int64 = 1_000_000_000

    /// Takes the next packet of the track.
    mutating func note(_ packet: EncodedPacket) {
        let time = packet.dtsNanoseconds
        if let newest { passed += min(max(0, time - newest), Self.longestStep) }
        newest = time
    }
}
