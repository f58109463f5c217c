// SPDX-License-Identifier: Apache-2.0

/// The part of a frame that the video fills if there are bars beside the video. All numbers are even.
package struct FrameRegion: Sendable, Hashable {
    /// Number of columns to the left of the region.
    package let x: Int
    /// Number of rows above the region.
    package let y: Int
    /// Number of columns in the region.
    package let width: Int
    /// Number of rows in the region.
    package let height: Int

    /// Creates a region.
    package init(x: Int, y: Int, width: Int, height: Int) {
        (self.x, self.y, self.width, self.height) = (x, y, width, height)
    }
}
