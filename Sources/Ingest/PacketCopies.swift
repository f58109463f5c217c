// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// Hands the packets of a live input on as they came, besides their decoding, once it is known when they are due. Used by one
/// thread.
final class PacketCopies {
    private let tap: any PacketTap
    private let timing: SourceTiming
    private var readers: [Int: TrackReader] = [:]
    private let monitor: SourceMonitor
    /// What came before the source was placed.
    private var waiting: [EncodedPacket] = []
    /// When the first keyframe is shown, in ticks: what is shown before it, or came before it, refers to what is missing.
    private var begin: Int64?

    /// What may wait until a source is placed: more than a second of packets, whatever they are.
    private static let mostWaiting = 4000

    /// Hands `sink` copies of what is read of the input `name`; nil if the sink wants no packets. If `options` change a
    /// track, or no recording can hold it, the source cannot be copied.
    init?(
        _ streams: [StreamInfo], of name: String, options: TrackOptions, into sink: any SourceSink,
        timing: SourceTiming, monitor: SourceMonitor
    ) {
        guard let tap = sink as? any PacketTap, tap.wantsPackets else { return nil }
        (self.tap, self.timing, self.monitor) = (tap, timing, monitor)
        var refusal = options.channels == nil ? nil : "channels of its audio are chosen"
        for stream in streams {
            if let reader = TrackReader(stream, subject: name) {
                readers[stream.index] = reader
            } else {
                refusal = refusal ?? "\(stream.codecName) is not recorded as it is"
            }
        }
        if !streams.contains(where: { $0.kind == .video }) { refusal = refusal ?? "it has no video" }
        tap.beginPackets(refusal: refusal)
        if refusal != nil { readers = [:] }
    }

    /// Hands `sink` copies of packets of these tracks that a client sends to us; nil if the sink wants no packets.
    init?(_ stream: StreamDescription, into sink: any SourceSink, timing: SourceTiming, monitor: SourceMonitor) {
        guard let tap = sink as? any PacketTap, tap.wantsPackets else { return nil }
        (self.tap, self.timing, self.monitor) = (tap, timing, monitor)
        let reason = Carriage.movie.refusal(of: stream).map { String($0.dropLast()) }
        tap.beginPackets(refusal: stream.video == nil ? "it has no video" : reason)
    }

    /// Takes a packet whose times are those of the source's timeline.
    func take(_ box: PacketBox) {
        guard let reader = readers[box.streamIndex] else { return }
        do throws(AVFailure) {
            if let packet = try reader.read(box) { hand(on: packet) }
        } catch {
            monitor.noteDamage(error)
        }
    }

    /// Takes a packet with its place on the source's timeline.
    func take(_ placed: PacketInbox.Placed) {
        let base = TimeBase.nanoseconds
        let packet = placed.packet
        let dts = base.rescale(placed.decodeTime.nanoseconds, to: packet.timeBase)
        let delay = base.rescale((placed.time - placed.decodeTime).inNanoseconds, to: packet.timeBase)
        hand(
            on: EncodedPacket(
                of: packet.description, pts: dts + max(0, delay), dts: dts, duration: packet.duration,
                isKeyframe: packet.isKeyframe, isDisposable: packet.isDisposable, payload: packet.payload))
    }

    /// Another sender is there.
    func restart() {
        (waiting, begin) = ([], nil)
        tap.beginPackets(refusal: nil)
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
