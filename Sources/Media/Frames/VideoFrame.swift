// SPDX-License-Identifier: Apache-2.0

/// One immutable raw frame, shared by all that show it.
package struct VideoFrame: Sendable {
    /// Presentation time in ticks of ``timeBase``, on the timeline of the frame's maker.
    package var pts: Int64
    /// The time base of ``pts`` and ``duration``.
    package var timeBase: TimeBase
    /// How long the frame is shown if none follows; 0 if that is not known.
    package var duration: Int64
    /// Luma columns.
    package let width: Int
    /// Luma rows.
    package let height: Int
    /// The pixels.
    package let storage: any FrameStorage
    /// Closed captions that belong to this frame and to those before it that were left out: `cc_data` of CEA-708 in runs of
    /// 3 bytes, as A/53 (part 4, 6.2.3) has it. Empty without any.
    package var captions: [UInt8] = []
    /// The place of the video in the frame, if it has another shape and bars beside it; nil if it fills the frame.
    package var region: FrameRegion?

    /// A frame of these properties.
    package init(
        pts: Int64, timeBase: TimeBase, duration: Int64 = 0, width: Int, height: Int, storage: any FrameStorage
    ) {
        self.pts = pts
        self.duration = duration
        self.timeBase = timeBase
        self.width = width
        self.height = height
        self.storage = storage
    }
}
