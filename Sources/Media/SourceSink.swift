// SPDX-License-Identifier: Apache-2.0

/// Receives a source's decoded frames and audio.
///
/// A source that can wait (a file) delivers only while there is room, on its own timeline: 0 is its first frame (or
/// first sample, if it has only audio). A live source first calls ``attach(_:)`` to say when its times are due, then
/// delivers media as it arrives: each frame with its time on the source's timeline, and audio at its position in the
/// program. The sink drops media that it cannot keep, and counts it. Only ``waitForRoom(timeout:)`` blocks. One
/// producer thread at a time.
package protocol SourceSink: AnyObject, Sendable {
    /// Whether the sink has room for `track` now. Always true for a live source.
    func hasRoom(for track: TrackKind) -> Bool
    /// Blocks the producer until there may be room, the sink is closed, or `timeout` has passed.
    func waitForRoom(timeout: Duration)
    /// The program's time, which a live source needs to position its audio.
    var programTime: ProgramTime { get }
    /// Sets when a live source's media is due. The source calls it once, before it delivers anything.
    func attach(_ times: any SourceTimes)
    /// Moves a live source's queued audio by `samples`, later if positive, because the source's clock mapping made a
    /// step.
    func moveAudio(by samples: Int64)
    /// Delivers one 4:2:0 frame in the program's size. Its pts is on the source's timeline.
    func deliver(_ frame: VideoFrame)
    /// Delivers audio in the program's audio format, at its position. Audio that begins before the end of earlier audio
    /// replaces the overlap; the sink fills a gap with silence.
    func deliver(_ audio: AudioBuffer)
    /// Tells the consumer not to wait for `track`: the track has no media now, and the source cannot read on because
    /// the other track is full.
    func markStarved(_ track: TrackKind)
    /// Reports that a live source decodes a backlog as fast as it can, until ``markCaughtUp()``.
    func markBehind()
    /// Reports that the backlog of a live source is decoded: from now on its media arrives in real time.
    func markCaughtUp()
    /// Reports that the source delivers nothing more on `track`.
    func end(_ track: TrackKind)
}

/// The mapping of a live source's clock to ours. Media times are on the source's timeline; moments are on
/// CLOCK_MONOTONIC. Any thread may call it.
package protocol SourceTimes: AnyObject, Sendable {
    /// Moves the source's clock mapping to `moment`, and detects late media. Called at each tick of the program.
    func advance(to moment: Timestamp)
    /// The moment at which `time` of the source's timeline is due, by the current mapping; nil while there is no
    /// mapping.
    func due(_ time: Timestamp, of track: TrackKind) -> Timestamp?
    /// How much longer the media of `track` lasts on our clock than its timestamps say: 0.0001 means 100 ppm.
    func stretch(of track: TrackKind) -> Double
}

/// Receives the packets of a live source as they arrived, in addition to the decoded media. No call blocks.
package protocol PacketTap: AnyObject, Sendable {
    /// Whether the tap wants packets.
    var wantsPackets: Bool { get }
    /// Reports that the input is open, perhaps with another sender, and that the next packets begin with a keyframe.
    /// `refusal` says why the packets cannot be used, in one sentence without a full stop; nil if they can.
    func beginPackets(refusal: String?)
    /// Receives a packet, in decoding order of its track. Its times are on the source's timeline.
    func deliver(packet: EncodedPacket)
}
