// SPDX-License-Identifier: Apache-2.0

/// A frame's width and height in pixels.
public struct FrameSize: Sendable, Hashable, Codable {
    /// Columns.
    public var width: Int
    /// Rows.
    public var height: Int

    /// `width` by `height`.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }
}
