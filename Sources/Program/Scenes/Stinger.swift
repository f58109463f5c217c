// SPDX-License-Identifier: Apache-2.0

package import Media

/// A short video with alpha that is shown over a change of scene. The scene changes while the video covers the whole
/// frame.
package protocol Stinger: AnyObject, Sendable {
    /// The stinger's length in program frames.
    var frames: Int64 { get }
    /// The number of the stinger's frame at which the new scene begins.
    var cut: Int64 { get }
    /// Returns the stinger's frame `number`, in the program's size and in memory with alpha. If that frame is not
    /// ready, returns the previous one; nil before the first frame is ready. Called on the program's thread; does not
    /// wait.
    func frame(_ number: Int64) -> VideoFrame?
    /// Prepares the stinger to be shown again. Returns at once.
    func rewind()
}
