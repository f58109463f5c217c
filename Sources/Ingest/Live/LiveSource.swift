// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import LibAV
package import Logging
package import Media
internal import SourceClock
internal import Synchronization

/// A live source. The due times of its packets are computed from the sender's clock. Each packet is decoded when it
/// arrives or, if its buffer is long, shortly before it is due. A feed receives or reads the packets.
///
/// While no packets arrive, because no client sends or the input is being opened again, the source delivers nothing.
/// The packets that arrive next continue the source, with any frame size and codec, and with or without audio.
package final class LiveSource: MediaSource {
    package let description: SourceDescription
    private let feed: any LiveFeed
    private let opened: LiveDescription
    private let location: InputLocation
    private let options: IngestOptions
    private let monitor: SourceMonitor
    private let queue: DispatchQueue
    private let startOnce = StartOnce()
    /// The inbox of the started source; nil before.
    private let started = Mutex<PacketInbox?>(nil)

    /// Creates a source of the packets of `feed`, which is open at `location`.
    init(
        _ feed: any LiveFeed, _ opened: LiveDescription, at location: InputLocation, options: IngestOptions,
        monitor: SourceMonitor
    ) {
        (self.feed, self.opened, self.location, self.options) = (feed, opened, location, options)
        self.monitor = monitor
        description = opened.source
        queue = DispatchQueue(label: "relay.ingest.\(location.description)")
    }

    /// Opens `source`, which must be live and belongs to `location`. Blocks until the tracks of `source` are known. If
    /// an `opening` is given, it later controls how much of the source is decoded.
    package convenience init(
        _ source: any PacketSource, at location: InputLocation, options: IngestOptions = IngestOptions(),
        logger: Logger, opening: SourceOpening? = nil
    ) throws(IngestError) {
        let input = try source.open()
        let video = input.stream.video.flatMap { track in
            track.frameFormat.map {
                VideoFormat(nearestTo: $0, frameRate: NominalRate.of(average: track.nominalRate, base: nil))
            }
        }
        var clock = input.clock
        if let latency = location.latency { clock.latency = latency }
        let held = input.stream.video.map { $0.reorderDepth } ?? 0
        clock.decoding = (video?.frameRate ?? FrameRate(25)).timeBase.duration(held)
        var stamps: [TrackKind: TrackStamps] = [:]
        for track in input.stream.tracks where track.kind != .data {
            stamps[track.kind] = (track.timeBase, input.stampBits)
        }
        let description = SourceDescription(
            video: video, hasAudio: input.stream.audio != nil, isLive: true, duration: nil)
        self.init(
            PublishedFeed(source, input.stream),
            LiveDescription(source: description, clock: clock, stamps: stamps, stampBits: input.stampBits),
            at: location, options: options, monitor: opening?.monitor ?? SourceMonitor(logger: logger))
        monitor.update { $0.video = video }
    }

    package func start(into sink: any SourceSink, video: VideoFormat?, audio: AudioFormat?) {
        guard startOnce.begin() else { return }
        let wanted: Set<TrackKind> = Set([video.map { _ in .video }, audio.map { _ in .audio }].compactMap(\.self))
        let stamps = opened.stamps.filter { wanted.contains($0.key) }
        // An audio offset is relative to the video. Without video, the offset becomes a delay of the whole source.
        let delay = options.delay + (video == nil ? max(.zero, location.tracks.audioOffset) : .zero)
        let timing = SourceTiming(
            SourceClock(opened.clock, tracks: stamps, common: location.latency == nil ? options.commonBuffer : nil),
            frameRate: video?.frameRate ?? FrameRate(25), programTime: sink.programTime, delay: delay,
            name: location.description, monitor: monitor)
        sink.attach(timing)
        let inbox = PacketInbox(wanted, known: stamps, stampBits: opened.stampBits, timing: timing, monitor: monitor)
        started.withLock { $0 = inbox }
        feed.start(into: inbox, wanted: wanted)
        queue.async { [self] in
            SourceDecoder(
                inbox, from: feed, into: sink, video: video, audio: audio, options: location.tracks, monitor: monitor,
                name: location.description
            ).run()
            feed.waitUntilOver()
            sink.end(.video)
            sink.end(.audio)
        }
    }

    package func stop() {
        monitor.stop()
        feed.stop()
    }

    /// While the input is being opened again or waits for a sender, it counts as running as long as its buffer lasts.
    package var status: SourceStatus {
        var status = feed.status(with: monitor.status)
        let isAway = status.state == .waiting || status.state == .opening
        if isAway, started.withLock({ $0 })?.isPlayingOut == true { status.state = .running }
        return status
    }
}
