// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Logging
internal import Media
internal import SourceClock

/// A reader or receiver that puts the packets of a live source into its inbox.
protocol LiveFeed: AnyObject, Sendable {
    /// Begins to put packets into `inbox`. The feed or the inbox leaves out packets of tracks that are not `wanted`. To
    /// be called once.
    func start(into inbox: PacketInbox, wanted: Set<TrackKind>)
    /// Stops reading the input, because its packets cannot be decoded, and opens the input again. Returns false if
    /// reopening cannot help, because the sender decides which packets it sends. Returns at once. The caller repeats
    /// the call until the feed has reported the interruption to the inbox.
    func openAgain(after failure: IngestError) -> Bool
    /// Ends the source. Returns at once; may be called on any thread, any number of times.
    func stop()
    /// Blocks until the feed has stopped reading, which happens after the source's end or after ``stop()``. Returns at
    /// once for a feed whose sender is a client.
    func waitUntilOver()
    /// Returns the status of the source, merged from the feed's own status and the decoder's status `own`.
    func status(with own: SourceStatus) -> SourceStatus
}

/// The properties of a live source that were found when it was opened.
struct LiveDescription {
    var source: SourceDescription
    /// How the source's timestamps and the arrival times of its packets are converted to due times.
    var clock: SourceClockSettings
    /// The time base of each known track's timestamps, and their number of bits.
    var stamps: [TrackKind: TrackStamps]
    /// The number of bits after which the timestamps of tracks that appear later wrap; nil if they do not wrap.
    var stampBits: Int?
}

/// The feed of a stream that a client publishes to relay.
final class PublishedFeed: LiveFeed {
    private let source: any PacketSource
    private let stream: StreamDescription

    /// Creates the feed of `source`, which is open and has the tracks of `stream`.
    init(_ source: any PacketSource, _ stream: StreamDescription) { (self.source, self.stream) = (source, stream) }

    func start(into inbox: PacketInbox, wanted: Set<TrackKind>) {
        inbox.put(.opening(LiveOpening(tracks: .sent(stream))))
        source.start(into: inbox)
    }

    func openAgain(after failure: IngestError) -> Bool { false }

    func stop() { source.stop() }

    func waitUntilOver() {}

    func status(with own: SourceStatus) -> SourceStatus {
        var status = source.status
        (status.video, status.framesDecoded) = (own.video, own.framesDecoded)
        (status.framesSkipped, status.framesOverdue) = (own.framesSkipped, own.framesOverdue)
        status.overload = own.overload
        status.decodeErrors += own.decodeErrors
        status.silentTracks = own.silentTracks
        (status.clock, status.audioOffsetSeconds) = (own.clock, own.audioOffsetSeconds)
        status.lastError = own.lastError ?? status.lastError
        return status
    }
}
