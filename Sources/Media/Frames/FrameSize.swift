// SPDX-License-Identifier: Apache-2.0

/// A frame's width and height in pixels.
package struct FrameSize: Sendable, Hashable, Codable {
    /// Columns.
    package var width: Int
    /// Rows.
    package var height: Int

    /// `width` by `height`.
    package init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }
}
