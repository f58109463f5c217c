// SPDX-License-Identifier: Apache-2.0

/// One immutable raw frame, shared by all its readers.
package struct VideoFrame: Sendable {
    /// Presentation time in ticks of ``timeBase``, on the timeline of the frame's producer.
    package var pts: Int64
    /// The time base of ``pts`` and ``duration``.
    package var timeBase: TimeBase
    /// How long the frame is shown if no frame follows, in ticks of ``timeBase``; 0 if unknown.
    package var duration: Int64
    /// Luma columns.
    package let width: Int
    /// Luma rows.
    package let height: Int
    /// The pixels.
    package let storage: any FrameStorage
    /// Closed captions of this frame and of skipped frames before it: `cc_data` of CEA-708 in runs of 3 bytes, as in
    /// A/53 (part 4, 6.2.3). Empty without captions.
    package var captions: [UInt8] = []
    /// The part of the frame that contains the video, if there are bars at two edges because the aspect ratios differ;
    /// nil if the video fills the whole frame.
    package var region: FrameRegion?

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

/// The part of a frame that the video fills if there are bars at two edges. All numbers are even.
package struct FrameRegion: Sendable, Hashable {
    /// Number of columns to the left of the region.
    package let x: Int
    /// Number of rows above the region.
    package let y: Int
    /// Number of columns in the region.
    package let width: Int
    /// Number of rows in the region.
    package let height: Int

    package init(x: Int, y: Int, width: Int, height: Int) {
        (self.x, self.y, self.width, self.height) = (x, y, width, height)
    }
}
