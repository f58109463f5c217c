// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Media
internal import Program
internal import Status
internal import Studio

/// The inputs of a program that is encoded here. All calls may come from any thread.
protocol ProgramInputs: Sendable {
    /// The program's shape.
    var format: VideoFormat { get }
    /// Whether all inputs can be read ahead of the clock.
    var canReadAhead: Bool { get }
    /// What the program shows.
    var bus: Bus { get }
    /// Begins to read. Returns at once.
    func start()
    /// Ends reading. Returns at once.
    func stop()
    /// A snapshot of each source, in the order in which they were given.
    var statuses: [SourceStatus] { get }
    /// What was delivered of the video, and of the audio; the latter is nil for silence.
    var feedStatuses: (video: FeedStatus, audio: FeedStatus?) { get }
    /// Which input is on air; nil where there is no choice.
    var selection: SelectionStatus? { get }
    /// The sources of a program that has several; nil where there is one.
    var parts: [PartStatus]? { get }
    /// Why a source failed for good, in its own words; nil if none did.
    var failure: String? { get }
    /// Why there is no video: the last error of its source, if it had one.
    var lastVideoError: String? { get }
    /// Says what of several sources is seen; nil where there is one.
    var director: Director? { get }
}

extension ProgramInputs {
    var director: Director? { nil }
    var parts: [PartStatus]? { nil }
}
