// SPDX-License-Identifier: Apache-2.0

/// Takes what goes on air, in order: each frame of the program once, and its audio without a hole.
///
/// Called by the program's thread alone. The calls block while the encoder works; that is what paces a program that
/// is not paced by a clock.
package protocol ProgramSink: AnyObject, Sendable {
    /// Takes the program's `index`-th frame. Indices grow; a hole means that frames were skipped.
    func encode(_ frame: VideoFrame, at index: Int64) throws
    /// Takes the audio that follows what was taken before.
    func encode(_ audio: AudioBuffer) throws
    /// Says that the program is over, and puts out what is still being encoded.
    func finish() throws
}
