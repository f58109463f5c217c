// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Logging
internal import Media
internal import SourceClock

/// What brings a live source's packets to its inbox.
protocol LiveFeed: AnyObject, Sendable {
    /// Begins to put packets of the `wanted` tracks into `inbox`, on a thread of the feed's own. To be called once.
    func start(into inbox: PacketInbox, wanted: Set<TrackKind>)
    /// Ends what is read, because it cannot be decoded, and opens the input again. Returns false if opening it again cannot
    /// help, because the sender decides what comes. Returns at once; to be repeated until the feed has interrupted.
    func openAgain(after failure: IngestError) -> Bool
    /// Ends the source. Returns at once; any thread, any number of times.
    func stop()
    /// Waits until nothing is read any more, after the source's end or its ``stop()``.
    func waitUntilOver()
    /// What the source is doing, whose decoder is doing `own`.
    func status(with own: SourceStatus) -> SourceStatus
}

/// What a live source turned out to be when it was opened.
struct LiveDescription {
    var source: SourceDescription
    /// How its stamps and arrivals are taken.
    var clock: SourceClockSettings
    /// How the tracks are stamped that are known.
    var stamps: [TrackKind: TrackStamps]
    /// After how many bits the stamps of tracks wrap that come later; nil if they do not.
    var stampBits: Int?
}

/// What a client sends to us.
final class PublishedFeed: LiveFeed {
    private let source: any PacketSource
    private let stream: StreamDescription

    /// The feed of `source`, which is open and was found to have the tracks of `stream`.
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
