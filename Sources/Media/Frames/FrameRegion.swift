// SPDX-License-Identifier: Apache-2.0

/// The part of a frame that the video fills when there are bars beside it. All numbers are even.
package struct FrameRegion: Sendable, Hashable {
    /// Columns left of it.
    package let x: Int
    /// Rows above it.
    package let y: Int
    /// Its columns.
    package let width: Int
    /// Its rows.
    package let height: Int

    package init(x: Int, y: Int, width: Int, height: Int) {
        (self.x, self.y, self.width, self.height) = (x, y, width, height)
    }
}
