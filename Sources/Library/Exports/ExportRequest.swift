// SPDX-License-Identifier: Apache-2.0

internal import Media

/// What is to be exported.
package struct ExportRequest: Sendable {
    package var channel: String
    /// The source of the channel that is exported; nil for the channel's program.
    package var source: String?
    /// When the first frame was on air and the one behind the last: milliseconds since 1970.
    package var range: Range<Int64>
    /// What the clip is called when it is downloaded.
    package var name: String?
    /// Whether it begins and ends with the very frames, for which some are coded again; nil for where that is possible.
    package var isExact: Bool?
    /// The clip whose very frames these are; the range says about when that was.
    package var clip: ClipExport?
    /// The clips that are to be one file, one behind the other, in place of the range; empty for what is one piece.
    package var stitched: [StitchedClip] = []
    /// Whether it is made to be looked at, and goes before others do.
    package var isTrial = false

    /// A request.
    package init(channel: String, range: Range<Int64>, name: String?, isExact: Bool?, source: String? = nil) {
        self.source = source
        (self.channel, self.range, self.name, self.isExact) = (channel, range, name, isExact)
    }
}

/// A clip that is to be made, is being made, or was.
package struct ExportJob: Sendable, Codable {
    /// How far it is.
    package enum State: String, Sendable, Codable {
        case queued, running, done, failed, cancelled

        /// Whether nothing more will come of it.
        package var isOver: Bool { self != .queued && self != .running }
    }

    package let id: String
    package let channel: String
    /// The source of the channel that is exported; nil for the channel's program.
    package var source: String?
    package var state: State
    /// The progress from 0 to 1.
    package var progress: Double
    package let from: String
    package let to: String
    package let name: String?
    package var isExact: Bool
    /// How long it will still take, in seconds; nil while that is not known.
    package var secondsLeft: Double?
    /// The clip's size.
    package var bytes: Int64?
    /// How long the clip lasts.
    package var durationSeconds: Double?
    /// Frames as they were recorded, and frames that were coded again.
    package var copiedFrames: Int?
    package var encodedFrames: Int?
    /// Why it failed, in a sentence; or what a reader of the clip should know.
    package var detail: String?
    /// Where the clip is, relative to the API's base; nil as long as there is no clip.
    package var url: String?

    /// A job that waits for its turn.
    package init(id: String, channel: String, from: String, to: String, name: String?, isExact: Bool) {
        (self.id, self.channel, self.from, self.to) = (id, channel, from, to)
        (self.name, self.isExact, state, progress) = (name, isExact, .queued, 0)
    }
}

/// What making a file of clips would take.
package struct ExportPlan: Sendable, Encodable {
    /// Frames that would be in it as they were recorded, and frames that would be coded again.
    package var copiedFrames: Int
    package var encodedFrames: Int
    /// Why clips would be coded again as a whole, each reason once.
    package var reasons: [String]
    /// What a reader of the file should know.
    package var notes: [String]

    /// A plan.
    package init(copiedFrames: Int, encodedFrames: Int, reasons: [String], notes: [String]) {
        (self.copiedFrames, self.encodedFrames) = (copiedFrames, encodedFrames)
        (self.reasons, self.notes) = (reasons, notes)
    }
}
