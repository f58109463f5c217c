// SPDX-License-Identifier: Apache-2.0

/// What an operator sees of one source's way into the program.
public struct FeedStatus: Sendable, Codable {
    /// Frames delivered.
    public var framesIn = 0
    /// Frames that were never shown.
    public var framesDropped = 0
    /// Program frames for which the frame before was shown again.
    public var framesRepeated = 0
    /// Those of them for which the frame that was due had not come: a repetition that is a matter of frame rates is none.
    public var framesLate = 0
    /// Samples of silence put where audio was missing.
    public var silentSamples = 0
    /// Samples that came too late or overlapped.
    public var cutSamples = 0
    /// Times a live source's audio was moved at once, because its map was.
    public var resyncs = 0

    /// Nothing delivered yet.
    public init() {}
}
