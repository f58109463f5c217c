// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// A packet of a live source, with its times on the source's timeline, before it is decoded.
struct LivePacket {
    /// The compressed packet, as it was read or received.
    enum Content {
        /// A packet that libav read; its own stamps are already those of the timeline.
        case read(PacketBox, LiveStream)
        /// A packet that a client sent, with the client's stamps.
        case received(EncodedPacket)
    }

    let content: Content
    /// When the packet is presented, on the source's timeline.
    let time: Timestamp
    /// When the packet is to be decoded, on the source's timeline.
    let decodeTime: Timestamp

    /// The track that the packet belongs to.
    var track: TrackKind {
        switch content {
        case .read(_, let stream): stream.info.kind
        case .received(let packet): packet.track
        }
    }

    /// The coding of the packet.
    var coding: LiveCoding {
        switch content {
        case .read(_, let stream): .stream(stream)
        case .received(let packet): .track(packet.description)
        }
    }

    /// Whether the container, the parser or the sender marks the packet as one with which decoding can begin.
    var isKeyframe: Bool {
        switch content {
        case .read(let box, _): box.isKeyframe
        case .received(let packet): packet.isKeyframe
        }
    }

    /// The packet as a decoder takes it, with the times of the timeline. Errors call the source `subject`.
    func box(subject: String) throws(AVFailure) -> PacketBox {
        switch content {
        case .read(let box, _): return box
        case .received(let packet):
            let base = packet.timeBase
            return try PacketBox(
                packet, pts: TimeBase.nanoseconds.rescale(time.nanoseconds, to: base),
                dts: TimeBase.nanoseconds.rescale(decodeTime.nanoseconds, to: base), subject: subject)
        }
    }
}

/// The coding of packets of a live source: one decoder decodes all packets of the same coding.
enum LiveCoding {
    /// The coding of a stream of an input that libav opened. Each opening of the input has streams of its own.
    case stream(LiveStream)
    /// The coding that a publishing client described.
    case track(TrackDescription)

    /// Whether one decoder can decode packets of both codings, one after the other.
    func isSame(as other: LiveCoding) -> Bool {
        switch (self, other) {
        case (.stream(let stream), .stream(let another)): stream === another
        case (.track(let track), .track(let another)): track === another
        case (.stream, .track), (.track, .stream): false
        }
    }

    /// Whether decoding may begin with any packet. This is so for libav, whose parser does not mark every packet with
    /// which decoding can begin; it is not so for a client, whose first packets may refer to frames that it sent
    /// earlier.
    var beginsAnywhere: Bool {
        if case .stream = self { true } else { false }
    }

    /// The description of the stream with which a decoder is made. Errors call the source `subject`.
    func stream(subject: String) throws(AVFailure) -> StreamInfo {
        switch self {
        case .stream(let stream): stream.info
        case .track(let track): try StreamInfo(track, subject: subject)
        }
    }
}

/// A stream of a live input that libav opened.
final class LiveStream: Sendable {
    let info: StreamInfo
    /// The offset that is added to the stream's stamps, in ticks.
    let shift: Int64
    /// The clock that the stream's stamps are readings of, if they give the time of capture; nil otherwise.
    let clock: CaptureClock?

    /// The stream `info`. Its stamps are moved by `shift` ticks, and are readings of `clock` if that is not nil.
    init(_ info: StreamInfo, shift: Int64 = 0, clock: CaptureClock? = nil) {
        (self.info, self.shift, self.clock) = (info, shift, clock)
    }

    /// The decoding time for a packet without one, in ticks of `base`: the end of the packet before. If the
    /// presentation time differs from that by a second or more, the sender began again, and the presentation time is
    /// used.
    static func decodeTime(pts: Int64?, end: Int64?, in base: TimeBase) -> Int64? {
        guard let pts, let end else { return end ?? pts }
        return base.duration(pts &- end).inNanoseconds.magnitude < 1_000_000_000 ? end : pts
    }
}

/// The tracks and limits of a live source from the moment at which it was opened, or at which its sender began again.
struct LiveOpening {
    /// The tracks, as far as they are known.
    enum Tracks {
        /// The streams of an input that libav opened.
        case streams([LiveStream])
        /// The tracks that a client announced; it may also send others.
        case sent(StreamDescription)
        /// Any track: the client has announced none.
        case any
    }

    var tracks: Tracks
    /// How much media time may be queued for decoding; older packets are dropped.
    var timeLimit = Self.usualTimeLimit
    /// Whether unread media stays available on its server, as the segments of a playlist do, so that the reader may
    /// pause.
    var canWait = false

    /// The limit for sources that do not arrive in segments.
    static let usualTimeLimit = Duration.seconds(60)
}
