// SPDX-License-Identifier: Apache-2.0

/// Where a source delivers decoded frames and audio.
///
/// A source that can wait (a file) delivers only while there is room, on its own timeline: 0 is its first frame (or, for
/// a source of audio alone, its first sample). A live source says first, by ``attach(_:)``, when its times are due, and
/// delivers as media comes: frames with their time on its own timeline, audio at its position in the program. The sink
/// drops what it cannot keep, counted. None of the calls but ``waitForRoom(timeout:)`` blocks. One producer
/// thread at a time.
package protocol SourceSink: AnyObject, Sendable {
    /// Whether `track` is wanted now. Always true for a live source.
    func hasRoom(for track: TrackKind) -> Bool
    /// Blocks the producer until room may have appeared, the sink was closed, or `timeout` passed.
    func waitForRoom(timeout: Duration)
    /// The program's time, by which a live source places its audio.
    var programTime: ProgramTime { get }
    /// Says when what a live source delivers is due. Once, before it delivers anything.
    func attach(_ times: any SourceTimes)
    /// Moves a live source's audio that was delivered and not taken yet by `samples`, later if positive: its map moved
    /// at once.
    func moveAudio(by samples: Int64)
    /// Delivers one frame, in the program's size and 4:2:0, with its pts on the source's timeline.
    func deliver(_ frame: VideoFrame)
    /// Delivers audio in the program's audio format, at its position. Audio that begins
    /// before the end of what was delivered replaces the overlap; a hole is filled with silence by the sink.
    func deliver(_ audio: AudioBuffer)
    /// Says that `track` has nothing to offer now although the source cannot read on, because the other track is
    /// full: the consumer must not wait for it.
    func markStarved(_ track: TrackKind)
    /// Says that a live source was placed: what was collected of it meanwhile is decoded as fast as it can be, until
    /// ``markCaughtUp()``.
    func markBehind()
    /// Says that all data so far of a live source is decoded: what follows comes at its own pace.
    func markCaughtUp()
    /// Says that nothing more will come on `track`.
    func end(_ track: TrackKind)
}
