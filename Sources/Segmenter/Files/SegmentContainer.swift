// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import MP4
internal import Media

/// What differs between the formats of a recording: how packets become bytes, and how a file is completed.
protocol SegmentContainer {
    /// Whether a file begins with a hidden packet of audio, because the container can hide one.
    var hidesPreRoll: Bool { get }

    /// Whether frames may be written behind audio that is heard much later, as in a format with an index of each track.
    var takesLateFrames: Bool { get }

    /// What a file of which a part is hidden shows, once its index is appended: frames, and samples of audio; nil if it shows
    /// all it holds but the pre-roll.
    var shown: (frames: Int, audioSamples: Int64)? { get }

    /// Shows nothing from program time `time` on, in nanoseconds.
    mutating func end(at time: Int64)

    /// What an open file begins with.
    mutating func head() throws(FileFailure) -> [UInt8]

    /// Takes timed data that goes with the next fragment, if the format has a place for it.
    mutating func gather(_ data: EncodedPacket)

    /// Takes moments of the file that somebody marked, before ``appendIndex(_:mediaEnd:ending:)``, if the format has a
    /// place for them.
    mutating func mark(_ chapters: [Chapter])

    /// The bytes of a fragment that is to lie at `offset`. `next` is the frame that follows, if one is known: its
    /// decoding time says how long the last of `videoPackets` lasts.
    mutating func fragment(
        _ videoPackets: [EncodedPacket], _ audioPackets: [EncodedPacket], next: EncodedPacket?, at offset: Int64
    ) throws(FileFailure) -> [SharedBytes]

    /// The last fragment is on disk.
    mutating func wrote()

    /// Appends what the file lacks behind its media, which ends at `mediaEnd` for the reason `ending`, forgets what that
    /// took, and returns the file's size. Does not wait for the disk.
    mutating func appendIndex(
        _ file: FileDescriptor, mediaEnd: Int64, ending: SegmentEnding
    ) throws(FileFailure) -> Int64

    /// Completes a file of `size` bytes whose index was appended. Without `isDurable` nothing waits for the disk.
    func seal(_ file: FileDescriptor, mediaEnd: Int64, size: Int64, isDurable: Bool) throws(FileFailure)
}

extension SegmentContainer {
    var shown: (frames: Int, audioSamples: Int64)? { nil }
    mutating func end(at time: Int64) {}
    mutating func gather(_ data: EncodedPacket) {}
    mutating func mark(_ chapters: [Chapter]) {}
}
