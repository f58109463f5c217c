// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import LibAV
package import Logging
package import Media
package import SourceClock

/// A live source of packets whose frames and audio are wanted: decoded when they are due, and placed by its sender's clock.
///
/// While no client sends, the source delivers nothing. The next client that sends continues the stream, in whatever
/// size and coding, and with audio or without.
package final class DecodedPacketSource: MediaSource {
    package let description: SourceDescription
    private let source: any PacketSource
    private let input: PacketSourceDescription
    private let common: CommonBuffer?
    private let settings: SourceClockSettings
    private let name: String
    private let monitor: SourceMonitor
    private let queue: DispatchQueue
    private let startOnce = StartOnce()

    /// Opens `source`, which must be live and is what `location` names: blocks until its tracks are known. An `opening` goes
    /// on to say how much of it is decoded. Unless its address asks for a latency it takes part in a `common` buffer.
    package init(
        _ source: any PacketSource, at location: InputLocation, common: CommonBuffer? = nil, logger: Logger,
        opening: SourceOpening? = nil
    ) throws(IngestError) {
        self.common = location.latency == nil ? common : nil
        name = location.description
        let input = try source.open()
        self.source = source
        self.input = input
        monitor = opening?.monitor ?? SourceMonitor(logger: logger)
        queue = DispatchQueue(label: "relay.ingest.\(name)")
        description = SourceDescription(
            video: input.stream.video.flatMap(Self.format), hasAudio: input.stream.audio != nil, isLive: true,
            duration: nil)
        var settings = input.clock
        if let latency = location.latency { settings.latency = latency }
        let held = input.stream.video.map { $0.reorderDepth } ?? 0
        settings.decoding = (description.video?.frameRate ?? FrameRate(25)).timeBase.duration(held)
        self.settings = settings
    }

    /// The shape of frames that are coded so.
    private static func format(_ track: TrackDescription) -> VideoFormat? {
        track.frameFormat.map {
            VideoFormat(nearestTo: $0, frameRate: NominalRate.of(average: track.nominalRate, base: nil))
        }
    }

    package func start(into sink: any SourceSink, video: VideoFormat?, audio: AudioFormat?) {
        guard startOnce.begin() else { return }
        let wanted: Set<TrackKind> = Set([video.map { _ in .video }, audio.map { _ in .audio }].compactMap(\.self))
        var tracks: [TrackKind: (timeBase: TimeBase, bits: Int?)] = [:]
        for track in input.stream.tracks where wanted.contains(track.kind) {
            tracks[track.kind] = (track.timeBase, input.stampBits)
        }
        let timing = SourceTiming(
            SourceClock(settings, tracks: tracks, common: common),
            frameRate: video?.frameRate ?? FrameRate(25), programTime: sink.programTime, name: name,
            monitor: monitor)
        sink.attach(timing)
        let inbox = PacketInbox(
            wanted, known: tracks, stampBits: input.stampBits, timing: timing, monitor: monitor)
        source.start(into: inbox)
        queue.async { [self] in
            let watch = DecodingWatch(timing, monitor: monitor, name: name)
            deliver(from: inbox, lanes: lanes(into: sink, video, audio, timing, watch), timing, watch, into: sink)
        }
    }

    package func stop() {
        monitor.stop()
        source.stop()
    }

    package var status: SourceStatus {
        var status = source.status
        let own = monitor.status
        status.video = description.video
        status.framesDecoded = own.framesDecoded
        (status.framesSkipped, status.framesOverdue) = (own.framesSkipped, own.framesOverdue)
        status.overload = own.overload
        status.decodeErrors += own.decodeErrors
        status.silentTracks = own.silentTracks
        status.clock = own.clock
        status.lastError = own.lastError ?? status.lastError
        return status
    }

    private func lanes(
        into sink: any SourceSink, _ video: VideoFormat?, _ audio: AudioFormat?, _ timing: SourceTiming,
        _ watch: DecodingWatch
    ) -> [TrackKind: DecodingLane] {
        let (monitor, name) = (monitor, name)
        let decoder = { (coding: TrackDescription) throws(AVFailure) -> TrackDecoder in
            let stream = try StreamInfo(coding, subject: name)
            let track = TrackDecoder(
                stream, decoder: try Decoder(stream, threading: .slices, subject: name), monitor: monitor)
            track.watch()
            return track
        }
        var lanes: [TrackKind: DecodingLane] = [:]
        if let video {
            lanes[.video] = DecodingLane(.video, timing: timing, monitor: monitor, name: name) {
                (coding) throws(AVFailure) in
                try VideoTrack(
                    try decoder(coding), target: video, sink: sink, monitor: monitor, subject: name, watch: watch)
            }
        }
        if let audio {
            lanes[.audio] = DecodingLane(.audio, timing: timing, monitor: monitor, name: name) {
                (coding) throws(AVFailure) in
                LiveAudioTrack(
                    try decoder(coding), format: audio, channels: nil, timing: timing, sink: sink, monitor: monitor,
                    subject: name)
            }
        }
        return lanes
    }

    /// Decodes until the source ends or is stopped. Blocks.
    private func deliver(
        from inbox: PacketInbox, lanes: [TrackKind: DecodingLane], _ timing: SourceTiming, _ watch: DecodingWatch,
        into sink: any SourceSink
    ) {
        let clock = SystemClock()
        var hasEnded = false
        var backlog = BacklogWatch(timing, sink)
        let copies = PacketCopies(input.stream, into: sink, timing: timing, monitor: monitor)
        while !monitor.isStopped {
            for item in inbox.takeAll() {
                if Self.hand(item, to: lanes, copies) { hasEnded = true }
            }
            let now = Timestamp(nanoseconds: clock.now)
            // Audio is placed in the program, which must have begun, and then takes the whole of its first frame's.
            let hasBegun = sink.programTime.line != nil
            backlog.begin()
            let moved = [hasBegun && lanes[.audio]?.step(now: now) ?? false, lanes[.video]?.step(now: now) ?? false]
            if moved.contains(true) { continue }
            // What can never be placed is not waited for.
            if hasEnded, !timing.isPlaced || lanes.values.allSatisfy(\.isEmpty) { break }
            backlog.end()
            inbox.wait(.milliseconds(hasBegun ? 20 : 5))
            watch.rest()
        }
        sink.end(.video)
        sink.end(.audio)
    }

    /// Gives what came to the lanes and copies that need it; returns true if nothing follows.
    private static func hand(
        _ item: PacketInbox.Item, to lanes: [TrackKind: DecodingLane], _ copies: PacketCopies?
    ) -> Bool {
        switch item {
        case .packet(let placed):
            lanes[placed.packet.track]?.append(placed)
            copies?.take(placed)
        case .interruption: for lane in lanes.values { lane.interrupt() }
        case .restart:
            for lane in lanes.values { lane.restart() }
            copies?.restart()
        case .end:
            for lane in lanes.values { lane.interrupt() }
            return true
        }
        return false
    }
}
