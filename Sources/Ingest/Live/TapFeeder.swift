// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// Passes the coded packets of a live source on to a sink that wants them, while the source is decoded as well. Packets
/// are passed on once their due times are known. Used by one thread.
final class TapFeeder {
    private let tap: any PacketTap
    private let options: TrackOptions
    private let name: String
    private let timing: SourceTiming
    private let monitor: SourceMonitor
    /// Readers of the packets that libav read, by stream number.
    private var readers: [Int: TrackReader] = [:]
    /// Packets that arrived before the due times were known.
    private var waiting: [EncodedPacket] = []
    /// The presentation time of the first keyframe, in ticks. Frames that are shown before this keyframe refer to
    /// missing frames, so their packets are dropped.
    private var begin: Int64?
    /// The latest presentation time of each track that was passed on, and the times up to which the packets of the
    /// present connection repeat those of the connection before; on the source's timeline.
    private var latest: [TrackKind: Timestamp] = [:]
    private var repeated: [TrackKind: Timestamp] = [:]

    /// The maximum number of packets that are kept until the due times are known: at least a second of any source.
    /// Further packets are dropped.
    private static let mostWaiting = 4000

    /// Creates a feeder that passes the packets of the source `name` to `sink`; nil if the sink wants no packets. If
    /// `options` choose channels of the audio, no packets are passed on.
    init?(
        into sink: any SourceSink, options: TrackOptions, of name: String, timing: SourceTiming, monitor: SourceMonitor
    ) {
        guard let tap = sink as? any PacketTap, tap.wantsPackets else { return nil }
        (self.tap, self.options, self.name, self.timing, self.monitor) = (tap, options, name, timing, monitor)
    }

    /// Prepares for the packets of an input that was opened with `tracks`, or of another sender with `tracks`. Packets
    /// that still wait are discarded, unless the input `continues`. If the new packets `mayRepeat` those before, those
    /// that were passed on are not passed on again.
    func begin(_ tracks: LiveOpening.Tracks, continues: Bool = false, mayRepeat: Bool = false) {
        if !continues { (waiting, latest) = ([], [:]) }
        repeated = mayRepeat ? latest : [:]
        (begin, readers) = (nil, [:])
        let refusal: String? =
            switch tracks {
            case .streams(let streams): open(streams)
            case .sent(let stream): refusal(of: stream)
            case .any: nil
            }
        if refusal != nil { readers = [:] }
        tap.beginPackets(refusal: refusal)
    }

    /// Makes a reader for each stream. Returns the reason if the streams cannot be passed on.
    private func open(_ streams: [LiveStream]) -> String? {
        var refusal = options.channels == nil ? nil : "channels of its audio are chosen"
        for stream in streams {
            if let reader = TrackReader(stream.info, subject: name) {
                readers[stream.info.index] = reader
            } else {
                refusal = refusal ?? "\(stream.info.codecName) is not recorded as it is"
            }
        }
        if !streams.contains(where: { $0.info.kind == .video }) { refusal = refusal ?? "it has no video" }
        return refusal
    }

    private func refusal(of stream: StreamDescription) -> String? {
        guard stream.video != nil else { return "it has no video" }
        return Carriage.movie.refusal(of: stream).map { String($0.dropLast()) }
    }

    /// Passes on the next packet of the source, or keeps it until the due times are known.
    func take(_ packet: LivePacket) {
        // Video begins with a keyframe, so after repeated packets it begins with the first new keyframe.
        if let repeated = repeated[packet.track], packet.time <= repeated { return }
        latest[packet.track] = max(latest[packet.track] ?? packet.time, packet.time)
        switch packet.content {
        case .read(let box, let stream):
            guard let reader = readers[stream.info.index] else { return }
            do throws(AVFailure) {
                if let packet = try reader.read(box) { hand(on: packet) }
            } catch {
                monitor.noteDamage(error)
            }
        case .received(let received): hand(on: received.placed(at: packet.time, decoded: packet.decodeTime))
        }
    }

    private func hand(on packet: EncodedPacket) {
        if packet.track == .video {
            if begin == nil, packet.isKeyframe { begin = packet.pts }
            guard let begin, packet.pts >= begin else { return }
        }
        guard timing.isPlaced else {
            if waiting.count < Self.mostWaiting { waiting.append(packet) }
            return
        }
        for packet in waiting { tap.deliver(packet: packet) }
        waiting = []
        tap.deliver(packet: packet)
    }
}

extension EncodedPacket {
    /// A copy of the packet with these times, which are on the source's timeline.
    fileprivate func placed(at time: Timestamp, decoded: Timestamp) -> EncodedPacket {
        let dts = TimeBase.nanoseconds.rescale(decoded.nanoseconds, to: timeBase)
        let delay = timeBase.ticks(time - decoded)
        return EncodedPacket(
            of: description, pts: dts + max(0, delay), dts: dts, duration: duration, isKeyframe: isKeyframe,
            isDisposable: isDisposable, payload: payload)
    }
}
