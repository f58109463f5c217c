// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// A packet of a live source, with its times on the source's timeline, before it is decoded.
struct LivePacket {
    /// The compressed packet, as it was read or received.
    enum Content {
        /// A packet that libav read, with timestamps on the source's timeline.
        case read(PacketBox, LiveStream)
        /// A packet that a client sent, with the client's timestamps.
        case received(EncodedPacket)
    }

    let content: Content
    /// When the packet is presented, on the source's timeline.
    let time: Timestamp
    /// When the packet is decoded, on the source's timeline.
    let decodeTime: Timestamp

    /// The track that the packet belongs to.
    var track: TrackKind {
        switch content {
        case .read(_, let stream): stream.info.kind
        case .received(let packet): packet.track
        }
    }

    /// The codec configuration of the packet.
    var coding: LiveCoding {
        switch content {
        case .read(_, let stream): .stream(stream)
        case .received(let packet): .track(packet.description)
        }
    }

    /// Whether decoding can begin with the packet, according to the container, the parser or the sender.
    var isKeyframe: Bool {
        switch content {
        case .read(let box, _): box.isKeyframe
        case .received(let packet): packet.isKeyframe
        }
    }

    /// Returns the packet in the form that decoders need, with its times on the source's timeline. `subject` is the
    /// source's name in error messages.
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

/// The codec configuration of a live source's packets: one decoder decodes all packets of the same configuration.
enum LiveCoding {
    /// The configuration of a stream that libav opened. The streams are new each time that the input is opened or the
    /// container gives a new decoder configuration.
    case stream(LiveStream)
    /// The configuration that a publishing client described.
    case track(TrackDescription)

    /// Whether one decoder can decode packets of both configurations, one after the other.
    func isSame(as other: LiveCoding) -> Bool {
        switch (self, other) {
        case (.stream(let stream), .stream(let another)): stream === another
        case (.track(let track), .track(let another)): track === another
        case (.stream, .track), (.track, .stream): false
        }
    }

    /// Whether decoding is allowed to begin with any packet. True for streams that libav reads, because libav's parser
    /// does not mark every packet with which decoding can begin. False for a client's tracks, because their first
    /// packets can refer to frames that the client sent earlier.
    var beginsAnywhere: Bool {
        if case .stream = self { true } else { false }
    }

    /// Returns the description of the stream from which a decoder is made. `subject` is the source's name in error
    /// messages.
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
    /// The offset that is added to the stream's timestamps, in ticks of the stream's time base.
    let shift: Int64
    /// The clock that gave the stream's timestamps at capture; nil if the timestamps are not capture times.
    let clock: CaptureClock?

    /// Creates the stream `info`. Its timestamps are moved by `shift` ticks. `clock` is the clock that gave the
    /// timestamps; nil if they are not capture times.
    init(_ info: StreamInfo, shift: Int64 = 0, clock: CaptureClock? = nil) {
        (self.info, self.shift, self.clock) = (info, shift, clock)
    }
}

/// The tracks and limits of a live source. They are set each time the source's input is opened or its sender restarts.
struct LiveOpening {
    /// The tracks, as far as they are known.
    enum Tracks {
        /// The streams of an input that libav opened.
        case streams([LiveStream])
        /// The tracks that a client announced; the client is allowed to send other tracks, too.
        case sent(StreamDescription)
        /// The client has announced no tracks and can send any track.
        case any
    }

    var tracks: Tracks
    /// The maximum media time that may be queued for decoding; if there is more, the oldest packets are dropped.
    var timeLimit = Self.usualTimeLimit
    /// Whether unread media stays available on the server, as the segments of a playlist do, so that the reader can
    /// pause without loss.
    var canWait = false
    /// Whether the input continues where it ended before, coded in another way or on another connection, so that the
    /// packets before this opening are still decoded.
    var continues = false
    /// Whether the first packets can repeat packets from before this opening, because another connection delivers them.
    /// What was shown before is not shown again.
    var mayRepeat = false

    /// The ``timeLimit`` of sources that do not arrive in segments.
    static let usualTimeLimit = Duration.seconds(60)
}
