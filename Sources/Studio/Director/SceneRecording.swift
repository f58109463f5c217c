// SPDX-License-Identifier: Apache-2.0

package import Catalogue

/// A recording of a program of several sources, which is told what comes on air.
///
/// All calls may come from any thread and return at once.
package protocol SceneRecording: AnyObject, Sendable {
    /// Names the recorder's run, in whose program times its files are.
    var run: String { get }
    /// Records which scene comes on air.
    func record(_ scene: SceneEvent)
}
