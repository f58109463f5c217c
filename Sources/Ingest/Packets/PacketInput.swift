// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Logging
internal import Media
internal import SourceClock

/// An input that libav opened and whose packets are passed on without decoding. Used by one thread at a time.
final class PacketInput {
    private let name: String
    private let demuxer: Demuxer
    private let monitor: SourceMonitor
    private let readers: [TrackReader]
    /// The stream of splice information (SCTE-35), whose times refer to the timestamps of the input's frames.
    private let splices: (index: Int, track: TrackDescription)?
    private let location: InputLocation
    /// Whether the input delivers media in real time, and is opened again when it ends.
    let isLive: Bool
    /// The sum of the durations of all earlier rounds of a loop. It is added to the timestamps.
    private var shift = Duration.zero
    /// The start and the end of the leading track in the current round of the loop, in the track's own timestamps.
    private var (start, end): (Timestamp, Timestamp) = (.distantFuture, .distantPast)
    /// The end of the audio in all rounds so far.
    private var audioEnd = Timestamp.distantPast
    /// Reads the packets of all streams that are passed on.
    private var input: StreamReader
    /// Decides which video packets of the current round are left out because of the file's edit list.
    private var cut = EditListCut()
    /// Leaves out the audio of the current round that the file's edit list cuts off.
    private var audioPreRoll = AudioPreRoll()
    /// Whether it was logged that frames are left out up to a keyframe.
    private var isCutLogged = false
    /// Packets that were read to find out the codecs of the tracks, with their arrival times.
    private var peeked: [(packet: EncodedPacket, arrival: MonotonicInstant)] = []

    /// The maximum number of packets that are read to find out the codecs of the tracks: a few seconds of media. The
    /// wait for the codec of the video has the limits of ``VideoDiscovery`` instead.
    private static let longestPeek = 500
    /// How much a server of live media may repeat at least after a reconnection, of a stream that is no playlist.
    private static let leastRepeats = Duration.seconds(1)
    /// If a read returns faster than this, the packet came from a buffer.
    private static let shortestWait = Duration.milliseconds(3)
    /// The maximum by which the arrival time of a packet is moved back. If a packet would have to be moved further, its
    /// arrival time is not changed.
    private static let longestBacklog = Duration.seconds(30)

    /// Opens `location`. Blocks until the input is open or the monitor's interrupter interrupts the call. Audio in a
    /// codec that no output can carry is decoded if `decodesOtherAudio` is set, because the program encodes its audio.
    /// Otherwise such audio makes the input unusable. If the input `isReopened`, such audio is dropped instead, so that
    /// the video continues.
    init(
        _ location: InputLocation, isReopened: Bool = false, decodesOtherAudio: Bool = false, monitor: SourceMonitor
    ) throws(IngestError) {
        (self.location, self.monitor) = (location, monitor)
        let name = location.description
        self.name = name
        demuxer = try location.openDemuxer(IngestOptions(), monitor: monitor)
        isLive = location.isLive(demuxer)
        let choice = try TrackChoice(location.tracks, from: demuxer, input: name)
        var (uncarried, readers): ([String], [TrackReader]) = (choice.others, [])
        for stream in [choice.video, choice.audio].compactMap(\.self) {
            if let reader = TrackReader(stream, subject: name, decodesOtherAudio: decodesOtherAudio) {
                readers.append(reader)
            } else if isReopened, stream.kind == .audio, !readers.isEmpty {
                uncarried.insert("the audio (\(stream.codecTitle))", at: 0)
            } else {
                throw IngestError.cannotBeCopied(input: name, reason: "\(stream.codecName) is not carried")
            }
        }
        if readers.isEmpty { throw IngestError.noMedia(input: name) }
        self.readers = readers
        monitor.note(uncarried: uncarried, of: name)
        let streams = readers.map(\.stream)
        splices = demuxer.spliceStream.map { ($0.index, TrackDescription(data: .scte35, timeBase: $0.timeBase)) }
        input = StreamReader(
            streams, others: [splices?.index].compactMap(\.self), of: demuxer, name: name, options: location.tracks,
            wanted: Set(streams.map(\.kind)), lacksAudio: !streams.contains { $0.kind == .audio },
            patience: SourceClockSettings.of(formatName: demuxer.formatName, target: demuxer.targetDuration).patience,
            monitor: monitor)
        try peek(untilKnown: !isReopened)
    }

    /// If `isAwaited`, reads until the codec of each track is known: in transport streams, only the packets state the
    /// codec. If the input cannot wait, also reads all packets that are already in a buffer, because libav's probing
    /// has read them or a server has kept them. That reading ends with the first packet for which the reader has to
    /// block.
    private func peek(untilKnown isAwaited: Bool) throws(IngestError) {
        let clock = SystemClock()
        let deadline = clock.now + VideoDiscovery.patience
        var (isWaiting, bytes) = (canWait, 0)
        while !isWaiting || isAwaited && readers.contains(where: { $0.track == nil }) {
            // The codec parameters of video come only with its next keyframe, so the wait for video has the limits of
            // ``VideoDiscovery``.
            let isDescribing = isAwaited && readers.contains { $0.stream.kind == .video && $0.track == nil }
            if isDescribing { monitor.isDescribing = true }
            let isOver = clock.now >= deadline || bytes >= VideoDiscovery.byteLimit
            if isDescribing ? isOver : peeked.count >= Self.longestPeek { break }
            let asked = clock.now
            guard let (box, arrival) = try input.next() else { break }
            bytes += box.size
            isWaiting = isWaiting || arrival - asked > Self.shortestWait
            for packet in read(box) { peeked.append((packet, arrival)) }
        }
        if isAwaited { try judgeTracks() }
        if !canWait { backdate() }
    }

    /// Warns of a track whose codec is still unknown. Throws if the codec of no track is known.
    private func judgeTracks() throws(IngestError) {
        if readers.allSatisfy({ $0.track == nil }) { throw IngestError.empty(input: name) }
        for reader in readers where reader.track == nil {
            monitor.logger.warning(
                "nothing of a track has come that says how it is coded; the input begins without it",
                metadata: ["input": "\(name)", "track": "\(reader.stream.kind.rawValue)"])
        }
    }

    /// Corrects the arrival times of packets that came from a buffer, by moving them back. Afterwards each packet has
    /// arrived as much earlier than the last packet as its decoding time is earlier.
    private func backdate() {
        guard let last = peeked.last else { return }
        for index in peeked.indices {
            let age = last.packet.sourceDts - peeked[index].packet.sourceDts
            guard (.zero...Self.longestBacklog).contains(age) else { continue }
            peeked[index].arrival = min(peeked[index].arrival, last.arrival - age)
        }
    }

    /// Whether the reader is allowed to pause, because unread media stays available: in a file, or on the HTTP server
    /// from which live media is read.
    private var canWait: Bool { !isLive || location.isLiveByNature == nil }

    /// The properties of the input that probing found. If probing could not find out the codec of a track, the codec is
    /// taken from the track's first packet.
    var description: PacketSourceDescription {
        let tracks = readers.compactMap(\.track)
        let stream = StreamDescription(
            video: tracks.first { $0.kind == .video }, audio: tracks.first { $0.kind == .audio },
            data: [splices?.track].compactMap(\.self))
        return PacketSourceDescription(
            stream: stream, canWait: canWait, isLive: isLive, clock: clockSettings,
            stampBits: canWait ? nil : readers.first?.stream.stampBits)
    }

    private var clockSettings: SourceClockSettings {
        let live = SourceClockSettings.of(formatName: demuxer.formatName, target: demuxer.targetDuration)
        guard canWait else { return live }
        var settings = SourceClockSettings.file
        if isLive { settings.repeats = max(live.repeats, Self.leastRepeats) }
        return settings
    }

    /// The streams that are read.
    var streams: [StreamInfo] { readers.map(\.stream) }

    /// Whether the input has delivered a packet since its start or, in a loop, since it was last rewound.
    var hasMedia: Bool { end > start }

    /// Keeps the connection open for the next input, if the codec configuration of a stream changes where this input
    /// has ended.
    func keepConnection() { monitor.keepConnection(of: demuxer) }

    /// Delivers until the source is stopped, the input ends and does not loop, or another `PacketInput` must continue.
    /// Blocks.
    func read(into sink: any PacketSourceSink, loops: Bool) throws(IngestError) {
        for (packet, arrival) in peeked { deliver(packet, arrival, to: sink) }
        peeked = []
        while !monitor.isStopped {
            guard let arrival = try input.next() else {
                guard loops, !monitor.isStopped else { return }
                // At a change of the coding, another `PacketInput` continues. If this input has read the rest of a file
                // after such a change, it cannot return to the file's start, so another `PacketInput` begins at the
                // start.
                if demuxer.transportStream != nil { return }
                try rewind()
                continue
            }
            if isLive { try input.follow(arrival) }
            for packet in read(arrival.packet) { deliver(packet, arrival.time, to: sink) }
            if isLive { try checkCodecs() }
        }
    }

    private func read(_ box: PacketBox) -> [EncodedPacket] {
        if let splices, box.streamIndex == splices.index {
            return [
                EncodedPacket(
                    of: splices.track, pts: box.pts ?? 0, dts: box.pts ?? 0, duration: 0, isKeyframe: true,
                    payload: SharedBytes(box.content))
            ]
        }
        do throws(AVFailure) {
            guard let reader = readers.first(where: { $0.stream.index == box.streamIndex }) else { return [] }
            let packet = try reader.read(box)
            if reader.stream.kind == .video, isCut(box) { return [] }
            guard let packet else { return [] }
            return reader.stream.kind == .video ? [packet] : audioPreRoll.take(packet, isHidden: box.isHidden)
        } catch {
            monitor.noteDamage(error)
            return []
        }
    }

    /// Throws if a track has another codec by now than when the input was opened, without a word of its container. This
    /// happens where the segments of a playlist change their codec.
    private func checkCodecs() throws(IngestError) {
        guard let foreign = readers.first(where: \.isForeign) else { return }
        monitor.knownTracks = nil
        throw IngestError.unreadable(
            input: name, reason: "its \(foreign.stream.kind) is not coded as \(foreign.stream.codecTitle) any more")
    }

    /// Whether a packet of video is left out because of the file's edit list.
    private func isCut(_ box: PacketBox) -> Bool {
        guard let time = box.pts ?? box.dts else { return false }
        switch cut.decide(pts: time, isKeyframe: box.isKeyframe, isHidden: box.isHidden) {
        case .keep: return false
        case .cutOff: return true
        case .undecodable:
            if !isCutLogged {
                monitor.logger.warning(
                    "an edit list cuts the file between two keyframes: the copy continues at the next keyframe",
                    metadata: ["input": "\(name)"])
            }
            isCutLogged = true
            return true
        }
    }

    private func deliver(_ packet: EncodedPacket, _ arrival: MonotonicInstant, to sink: any PacketSourceSink) {
        if let packet = shifted(packet) { sink.take(packet, at: arrival) }
    }

    /// Returns the packet with times after the earlier rounds of the loop. A round lasts as long as its video or,
    /// without video, its audio. If the audio is longer than the video, it would overlap with the audio of the next
    /// round. Nil if the packet belongs to this overlap and is dropped, and for damaged splice information.
    private func shifted(_ packet: EncodedPacket) -> EncodedPacket? {
        let packetEnd = Timestamp(packet.pts + packet.duration, in: packet.timeBase)
        if packet.track == .video || readers.allSatisfy({ $0.stream.kind == .audio }) {
            start = min(start, packet.sourcePts)
            end = max(end, packetEnd)
        }
        if packet.track == .audio {
            let half = packet.timeBase.duration(packet.duration) / 2
            if shift != .zero, packet.sourcePts + shift < audioEnd - half { return nil }
            audioEnd = max(audioEnd, packetEnd + shift)
        }
        return shift == .zero ? packet : packet.shifted(by: shift)
    }

    private func rewind() throws(IngestError) {
        guard end > start else { throw IngestError.empty(input: name) }
        shift += end - start
        (start, end) = (.distantFuture, .distantPast)
        (cut, audioPreRoll) = (EditListCut(), AudioPreRoll())
        do throws(AVFailure) {
            try demuxer.seekToStart()
        } catch {
            if monitor.isStopped { return }
            throw IngestError.cannotLoop(input: name, reason: error.message)
        }
    }
}

extension EncodedPacket {
    /// The presentation time in the timestamps of the source.
    fileprivate var sourcePts: Timestamp { Timestamp(nanoseconds: ptsNanoseconds) }

    /// The decoding time in the timestamps of the source.
    fileprivate var sourceDts: Timestamp { Timestamp(nanoseconds: dtsNanoseconds) }
}
