// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Media
internal import Program
internal import Status
internal import Studio

/// A source of a program that is encoded here. The source's bus shows the frames that the source delivers. All calls
/// may be made on any thread.
protocol ProgramSource: Sendable {
    var bus: Bus { get }
    /// Whether the source has audio.
    var hasAudio: Bool { get }
    /// A snapshot of each of the source's inputs, in the configured order.
    var statuses: [SourceStatus] { get }
    /// The counts of the frames and samples that the source's feeds delivered.
    var feedStatus: FeedStatus { get }
    /// The input that is on air; nil for a source without backups and slate.
    var selection: SelectionStatus? { get }
    /// Plays the source's file from a given position; nil if the source is not a file.
    var file: (any PlayedFile)? { get }
    /// Makes the source's feed for a program of `format`. The feed `audio` replaces the source's own audio; nil keeps
    /// the source's own audio. To be called once, before ``start()``.
    func prepare(_ format: VideoFormat, audio: SourceFeed?) throws(ChannelFailure)
    /// Makes the source decode less, or close inputs, while `isWanted` returns false. `isWanted` is called repeatedly.
    func spareUnless(_ isWanted: @escaping @Sendable () -> Bool)
    /// Begins to read the source's inputs. Returns at once.
    func start()
    /// Ends reading the source's inputs. Returns at once.
    func stop()
}
