// SPDX-License-Identifier: Apache-2.0

/// A stretch of the program that is in no file.
public struct RecordingGap: Sendable, Codable, Equatable {
    /// Program time in nanoseconds of the first frame that is missing.
    public var from: Int64
    /// Program time in nanoseconds of the first frame behind the gap; nil while it lasts.
    public var to: Int64?
    /// Why.
    public var reason: String
    /// Frames that are missing.
    public var frames: Int
    /// Names the run of the recorder, as ``SegmentPosition/run`` does.
    public var run = ""
}
