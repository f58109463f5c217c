// SPDX-License-Identifier: Apache-2.0

package import Catalogue

/// A recording of a program of several sources, to which scene changes are reported.
///
/// All calls can be made on any thread and return at once.
package protocol SceneRecording: AnyObject, Sendable {
    /// Identifies the recorder's run. The times in the recording's files are program times of this run.
    var run: String { get }
    /// Records that a scene goes on air.
    func record(_ scene: SceneEvent)
}
