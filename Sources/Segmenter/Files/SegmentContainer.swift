// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import MP4
internal import Media

/// The differences between the recording formats: how packets become bytes, and how a file is completed.
protocol SegmentContainer {
    /// Whether a file begins with a hidden audio packet. True only if the container can hide a packet.
    var hidesPreRoll: Bool { get }

    /// Whether frames can be written after audio that is much later. Formats with a separate index for each track allow
    /// this.
    var takesLateFrames: Bool { get }

    /// The numbers of visible frames and of audible samples of a hybrid file that can begin with hidden frames. They
    /// are known after the index was appended. Nil before that, and for all other files.
    var shown: (frames: Int, audioSamples: Int64)? { get }

    /// Hides everything from program time `time` on.
    mutating func end(at time: ProgramInstant)

    /// Returns the first bytes of an open file.
    mutating func head() throws(FileFailure) -> [UInt8]

    /// Stores timed data for the next fragment, if the format supports it.
    mutating func gather(_ data: EncodedPacket)

    /// Stores chapters for marked moments, if the format supports them. Must be called before
    /// ``appendIndex(_:mediaEnd:ending:)``.
    mutating func mark(_ chapters: [Chapter])

    /// Returns the bytes of a fragment that will be written at `offset`. `next` is the following frame, if it is known:
    /// its decoding time gives the duration of the last frame in `videoPackets`.
    mutating func fragment(
        _ videoPackets: [EncodedPacket], _ audioPackets: [EncodedPacket], next: EncodedPacket?, at offset: Int64
    ) throws(FileFailure) -> [SharedBytes]

    /// Records that the fragment that was made last is on disk.
    mutating func wrote()

    /// Appends the index after the media, which ends at the byte offset `mediaEnd`. `ending` is the reason why the file
    /// ends. Releases the memory of the index, and returns the file's size. Does not wait for the disk.
    mutating func appendIndex(
        _ file: FileDescriptor, mediaEnd: Int64, ending: SegmentEnding
    ) throws(FileFailure) -> Int64

    /// Completes a file of `size` bytes whose index was appended. Waits for the disk only if `isDurable` is set.
    func seal(_ file: FileDescriptor, mediaEnd: Int64, size: Int64, isDurable: Bool) throws(FileFailure)
}

extension SegmentContainer {
    var shown: (frames: Int, audioSamples: Int64)? { nil }
    mutating func end(at time: ProgramInstant) {}
    mutating func gather(_ data: EncodedPacket) {}
    mutating func mark(_ chapters: [Chapter]) {}
}
