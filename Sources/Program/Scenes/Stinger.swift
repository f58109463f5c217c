// SPDX-License-Identifier: Apache-2.0

package import Media

/// A short video with alpha that is shown over a change of scene, which takes place where it covers the frame.
package protocol Stinger: AnyObject, Sendable {
    /// How many frames of the program it has.
    var frames: Int64 { get }
    /// The number of its frame with which the other scene begins.
    var cut: Int64 { get }
    /// Its frame `number`, of the program's size, in memory that has alpha; the previous frame if it is not ready, and
    /// nil if no frame is. Called on the program's thread; does not wait.
    func frame(_ number: Int64) -> VideoFrame?
    /// Makes it ready to be shown again. Returns at once.
    func rewind()
}
