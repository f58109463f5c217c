// SPDX-License-Identifier: Apache-2.0

/// Where a source delivers decoded frames and audio, on its own timeline: 0 is its first frame (or, for a source
/// of audio alone, its first sample), and positions grow from there.
///
/// A source that can wait (a file) delivers only while there is room; a live source delivers as media comes, and the
/// sink drops what it cannot keep, counted. None of the calls but ``waitForRoom(timeout:)`` blocks. One producer
/// thread at a time.
public protocol SourceSink: AnyObject, Sendable {
    /// Whether `track` is wanted now. Always true for a live source.
    func hasRoom(for track: TrackKind) -> Bool
    /// Blocks the producer until room may have appeared, the sink was closed, or `timeout` passed.
    func waitForRoom(timeout: Duration)
    /// Delivers one frame, in the program's size and 4:2:0, with its pts on the source's timeline.
    func deliver(_ frame: VideoFrame)
    /// Delivers audio in the program's audio format, at its position on the source's timeline. Audio that begins
    /// before the end of what was delivered replaces the overlap; a hole is filled with silence by the sink.
    func deliver(_ audio: AudioBuffer)
    /// Says that `track` has nothing to offer now although the source cannot read on, because the other track is
    /// full: the consumer must not wait for it.
    func markStarved(_ track: TrackKind)
    /// Says that nothing more will come on `track`.
    func end(_ track: TrackKind)
    /// Says that a live source starts anew: its timeline begins again at 0 with the next frame.
    func restart()
}
