// SPDX-License-Identifier: Apache-2.0

/// An export: queued, running, or ended.
package struct ExportJob: Sendable, Codable {
    /// The progress of an export.
    package enum State: String, Sendable, Codable {
        case queued, running, done, failed, cancelled

        /// Whether the job has ended.
        package var isOver: Bool { self != .queued && self != .running }
    }

    package let id: String
    package let channel: String
    /// The source of the channel that is exported; nil means the channel's program.
    package var source: String?
    package var state: State
    /// The progress from 0 to 1.
    package var progress: Double
    package let from: String
    package let to: String
    package let name: String?
    package var isExact: Bool
    /// The expected remaining time, in seconds; nil while that is not known.
    package var secondsLeft: Double?
    /// The size of the exported file, in bytes.
    package var bytes: Int64?
    /// The length of the exported file, in seconds.
    package var durationSeconds: Double?
    /// The numbers of unchanged frames and of re-encoded frames.
    package var copiedFrames: Int?
    package var encodedFrames: Int?
    /// The reason for a failure, in a sentence; or notes for the person who gets the clip.
    package var detail: String?
    /// The address of the exported file, relative to the API's base; nil as long as there is no file.
    package var url: String?

    /// Creates a queued job.
    package init(id: String, channel: String, from: String, to: String, name: String?, isExact: Bool) {
        (self.id, self.channel, self.from, self.to) = (id, channel, from, to)
        (self.name, self.isExact, state, progress) = (name, isExact, .queued, 0)
    }
}
