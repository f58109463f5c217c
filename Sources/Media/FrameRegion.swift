// SPDX-License-Identifier: Apache-2.0

/// The part of a frame that the video itself fills, where bars are beside it. All numbers are even.
public struct FrameRegion: Sendable, Hashable {
    /// Columns left of it.
    public let x: Int
    /// Rows above it.
    public let y: Int
    /// Its columns.
    public let width: Int
    /// Its rows.
    public let height: Int

    /// A region of these.
    public init(x: Int, y: Int, width: Int, height: Int) {
        (self.x, self.y, self.width, self.height) = (x, y, width, height)
    }
}
