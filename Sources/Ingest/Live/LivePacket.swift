// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import Media

/// A packet of a live source with its times on the source's timeline, on its way to its decoder.
struct LivePacket {
    /// What is to be decoded.
    enum Content {
        /// What libav read; the packet itself has the times of the timeline, too.
        case read(PacketBox, LiveStream)
        /// What a client sent, with the client's stamps.
        case received(EncodedPacket)
    }

    let content: Content
    /// When it is presented.
    let time: Timestamp
    /// When it is to be decoded.
    let decodeTime: Timestamp

    /// The track that it belongs to.
    var track: TrackKind {
        switch content {
        case .read(_, let stream): stream.info.kind
        case .received(let packet): packet.track
        }
    }

    /// How it is coded.
    var coding: LiveCoding {
        switch content {
        case .read(_, let stream): .stream(stream)
        case .received(let packet): .track(packet.description)
        }
    }

    /// Whether the container, the parser or the sender says that decoding can begin with it.
    var isKeyframe: Bool {
        switch content {
        case .read(let box, _): box.isKeyframe
        case .received(let packet): packet.isKeyframe
        }
    }

    /// The packet as a decoder takes it, with the times of the timeline. `subject` is how errors name the source.
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

/// How packets of a live source are coded: one decoder decodes those that have the same.
enum LiveCoding {
    /// As a stream of an input that libav opened. Each opening has its own.
    case stream(LiveStream)
    /// As a client that sends to us said.
    case track(TrackDescription)

    /// Whether one decoder can continue from packets that are coded so to those coded as `other`.
    func isSame(as other: LiveCoding) -> Bool {
        switch (self, other) {
        case (.stream(let stream), .stream(let another)): stream === another
        case (.track(let track), .track(let another)): track === another
        case (.stream, .track), (.track, .stream): false
        }
    }

    /// Whether decoding may begin with any packet. The parser of libav does not mark every packet with which it can; a
    /// client's first packets refer to frames that it sent before.
    var beginsAnywhere: Bool {
        if case .stream = self { true } else { false }
    }

    /// What a decoder is made for. `subject` is how errors name the source.
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
    /// What is added to its stamps, in ticks.
    let shift: Int64
    /// The clock of its stamps, if they say when a packet was captured.
    let clock: CaptureClock?

    /// The stream `info`, whose stamps are moved by `shift` ticks and are readings of `clock`.
    init(_ info: StreamInfo, shift: Int64 = 0, clock: CaptureClock? = nil) {
        (self.info, self.shift, self.clock) = (info, shift, clock)
    }

    /// When to decode a packet that does not say so: where the one before ended, in ticks of `base`. If its
    /// presentation time is a second or more from there, the sender began again, and that time is used.
    static func decodeTime(pts: Int64?, end: Int64?, in base: TimeBase) -> Int64? {
        guard let pts, let end else { return end ?? pts }
        return base.duration(pts &- end).inNanoseconds.magnitude < 1_000_000_000 ? end : pts
    }
}

/// What a live source turned out to be when it was opened, or when its sender began again.
struct LiveOpening {
    /// What is known of the tracks.
    enum Tracks {
        /// These streams of an input that libav opened.
        case streams([LiveStream])
        /// These tracks, or others: a client sends them.
        case sent(StreamDescription)
        /// Whatever a client sends.
        case any
    }

    var tracks: Tracks
    /// How long media may wait to be decoded; what is older is given up.
    var timeLimit = Self.usualTimeLimit
    /// Whether what is not read can wait on its server, as the segments of a playlist can.
    var canWait = false

    /// The limit of sources that do not come in segments.
    static let usualTimeLimit = Duration.seconds(60)
}
