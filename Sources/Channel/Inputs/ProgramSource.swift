// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Media
internal import Program
internal import Status
internal import Studio

/// A source of a program that is encoded here: its bus shows what it delivers. All calls may come from any thread.
protocol ProgramSource: Sendable {
    var bus: Bus { get }
    /// Whether it can be heard.
    var hasAudio: Bool { get }
    /// A snapshot of each of its inputs, in the order in which they were given.
    var statuses: [SourceStatus] { get }
    /// What its feeds delivered.
    var feedStatus: FeedStatus { get }
    /// Which of its inputs is on air; nil if it has no choice.
    var selection: SelectionStatus? { get }
    /// Plays its file from another place; nil if that cannot be done.
    var file: (any PlayedFile)? { get }
    /// Makes the feed for a program of this format, with `audio` in place of its own audio; nil for its own. To be called
    /// once, before ``start()``.
    func prepare(_ format: VideoFormat, audio: SourceFeed?) throws(ChannelFailure)
    /// Saves work while `isWanted`, which is called again and again, returns false.
    func spareUnless(_ isWanted: @escaping @Sendable () -> Bool)
    /// Begins to read. Returns at once.
    func start()
    /// Ends reading. Returns at once.
    func stop()
}
