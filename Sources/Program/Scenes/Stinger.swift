// SPDX-License-Identifier: Apache-2.0

package import Media

/// A short video with alpha that is shown over a change of scene; the scene changes while the video covers the frame.
package protocol Stinger: AnyObject, Sendable {
    /// Its length in program frames.
    var frames: Int64 { get }
    /// The number of its frame with which the new scene begins.
    var cut: Int64 { get }
    /// Returns its frame `number` in the program's size, in memory with alpha; the previous frame if it is not ready;
    /// nil before the first frame is ready. Called on the program's thread; does not wait.
    func frame(_ number: Int64) -> VideoFrame?
    /// Makes it ready to be shown again. Returns at once.
    func rewind()
}
