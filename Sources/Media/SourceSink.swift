// SPDX-License-Identifier: Apache-2.0

/// Receives a source's decoded frames and audio.
///
/// A source that can wait (a file) delivers only while there is room, on its own timeline: 0 is its first frame (or
/// first sample, if it has only audio). A live source first calls ``attach(_:)`` with the clock mapping that says when
/// its media is due. Then it delivers media as it arrives: each frame with its time on the source's timeline, and audio
/// at its position in the program. The sink drops media that it cannot keep, and counts the losses. Only
/// ``waitForRoom(timeout:)`` blocks. Only one producer thread at a time may call the sink.
package protocol SourceSink: AnyObject, Sendable {
    /// Whether the sink has room for `track` now. Always true for a live source.
    func hasRoom(for track: TrackKind) -> Bool
    /// Blocks the producer until there may be room, the sink is closed, or `timeout` has passed.
    func waitForRoom(timeout: Duration)
    /// The program's time, which a live source needs to position its audio.
    var programTime: ProgramTime { get }
    /// Receives the clock mapping of a live source, which says when its media is due. The source calls this method
    /// once, before it delivers anything.
    func attach(_ times: any SourceTimes)
    /// Moves the queued audio of a live source by `samples`, later if positive, after a step of the source's clock
    /// mapping.
    func moveAudio(by samples: Int64)
    /// Delivers one 4:2:0 frame in the program's size. Its pts is on the source's timeline.
    func deliver(_ frame: VideoFrame)
    /// Delivers audio in the program's audio format, at its position. Where new audio overlaps earlier audio, the new
    /// audio replaces it. The sink fills gaps with silence.
    func deliver(_ audio: AudioBuffer)
    /// Tells the consumer not to wait for `track`: the track has no media now, and the source cannot read further
    /// because the buffer of the other track is full.
    func markStarved(_ track: TrackKind)
    /// Reports that a live source now decodes a backlog as fast as it can. ``markCaughtUp()`` reports the end of the
    /// backlog.
    func markBehind()
    /// Reports that a live source has decoded its backlog, and that its media now arrives in real time.
    func markCaughtUp()
    /// Reports that the source is an image: a file that has exactly one frame, and that was read from its start to its
    /// end.
    func markImage()
    /// Reports that the source delivers nothing more on `track`.
    func end(_ track: TrackKind)
}

extension SourceSink {
    package func markImage() {}
}

/// Maps a live source's timeline to CLOCK_MONOTONIC. Media times are on the source's timeline; moments are on
/// CLOCK_MONOTONIC. Any thread may call the methods.
package protocol SourceTimes: AnyObject, Sendable {
    /// Updates the source's clock mapping to `moment`, and detects late media. The program calls it at each tick.
    func advance(to moment: MonotonicInstant)
    /// The moment at which `time` of the source's timeline is due, by the current mapping; nil while there is no
    /// mapping.
    func due(_ time: Timestamp, of track: TrackKind) -> MonotonicInstant?
    /// How much longer the media of `track` lasts on CLOCK_MONOTONIC than by its timestamps, as a fraction: 0.0001
    /// means 100 ppm.
    func stretch(of track: TrackKind) -> Double
}

/// Receives the coded packets of a live source without re-encoding, while a ``SourceSink`` receives the decoded media.
/// No call blocks.
package protocol PacketTap: AnyObject, Sendable {
    /// Whether the receiver wants packets.
    var wantsPackets: Bool { get }
    /// Reports that the input is open, perhaps with another sender, and that the next packets begin with a keyframe.
    /// `refusal` says why the packets cannot be used, in one sentence without a full stop; nil if they can.
    func beginPackets(refusal: String?)
    /// Receives a packet, in decoding order of its track. Its times are on the source's timeline.
    func deliver(packet: EncodedPacket)
}
