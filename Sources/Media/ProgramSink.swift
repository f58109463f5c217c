// SPDX-License-Identifier: Apache-2.0

/// Receives the program's frames and audio in order. No frame comes twice, and the audio has no gaps.
///
/// Only the program's thread calls it. The calls block while the encoder works. A program that does not run in real
/// time therefore runs as fast as the encoder.
package protocol ProgramSink: AnyObject, Sendable {
    /// Encodes the program's `index`-th frame. Indices grow; a gap means that frames were skipped.
    func encode(_ frame: VideoFrame, at index: Int64) throws
    /// Encodes `audio`, which follows directly after the earlier audio.
    func encode(_ audio: AudioBuffer) throws
    /// Ends the program and flushes the encoders.
    func finish() throws
}
