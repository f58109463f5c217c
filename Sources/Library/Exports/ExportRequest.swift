// SPDX-License-Identifier: Apache-2.0

internal import Media

/// A request to export a range of recordings, a clip, or several clips as one file.
package struct ExportRequest: Sendable {
    package var channel: String
    /// The source of the channel that is exported; nil means the channel's program.
    package var source: String?
    /// The wall-clock times, in milliseconds since 1970, at which the first frame and the frame after the last one were
    /// on air.
    package var range: Range<Int64>
    /// The name of the downloaded file; nil means a name made of the channel and the start of the range.
    package var name: String?
    /// Whether the export begins and ends with exactly the requested frames, for which some frames are re-encoded. Nil
    /// means that the export is exact only if few frames must be re-encoded.
    package var isExact: Bool?
    /// The clip whose exact frames are exported; `range` is its approximate time.
    package var clip: ClipExport?
    /// The clips that are joined in one file, instead of the range; empty if a range or one clip is exported.
    package var stitched: [StitchedClip] = []
    /// Whether the export is only for a preview. Such exports are deleted earlier than others.
    package var isTrial = false

    /// Creates a request for one range.
    package init(channel: String, range: Range<Int64>, name: String?, isExact: Bool?, source: String? = nil) {
        self.source = source
        (self.channel, self.range, self.name, self.isExact) = (channel, range, name, isExact)
    }
}

/// The cost of exporting several clips as one file.
package struct ExportPlan: Sendable, Encodable {
    /// The numbers of frames that would be copied unchanged, and of frames that would be re-encoded.
    package var copiedFrames: Int
    package var encodedFrames: Int
    /// The reasons why clips would be re-encoded completely, each reason once.
    package var reasons: [String]
    /// Notes for the person who gets the file.
    package var notes: [String]

    package init(copiedFrames: Int, encodedFrames: Int, reasons: [String], notes: [String]) {
        (self.copiedFrames, self.encodedFrames) = (copiedFrames, encodedFrames)
        (self.reasons, self.notes) = (reasons, notes)
    }
}
