// SPDX-License-Identifier: Apache-2.0

/// A frame's width and height in pixels.
package struct FrameSize: Sendable, Hashable, Codable {
    /// Columns.
    package var width: Int
    /// Rows.
    package var height: Int

    /// A size of `width` by `height` pixels.
    package init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }
}
