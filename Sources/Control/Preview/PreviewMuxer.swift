// SPDX-License-Identifier: Apache-2.0

internal import MP4
internal import Media

/// Makes fragmented MP4 from live packets. A value type for one thread at a time.
struct PreviewMuxer {
    /// The boxes of one fragment. If the coding has changed, a new head comes before them.
    struct Piece {
        var bytes: [UInt8]
        /// Whether a decoder that has received the head (`ftyp` and `moov`) can start with this fragment.
        var beginsGOP: Bool
    }

    /// The length of a fragment. Longer fragments increase the delay; shorter ones increase the share of box headers in
    /// the data.
    private static let length = Duration.milliseconds(150)
    /// How much media of another track may wait for the leading track. If the video stopped and there were no limit,
    /// audio would be collected without end.
    private static let patience = Duration.seconds(2)
    /// The number of seconds that is added to all times, so that times before the program's start are not negative.
    private static let lead: Int64 = 1

    /// `ftyp` and `moov` for the current coding.
    private(set) var head: [UInt8] = []
    private var description: StreamDescription
    private var layout: MovieLayout
    private var clocks: [TrackKind: TrackClock] = [:]
    private var waiting: [EncodedPacket] = []
    private var sequence: UInt32 = 0
    private var isHeadDue = false

    /// Makes fragments of the video and audio of `description`.
    init(_ description: StreamDescription) {
        self.description = description
        layout = MovieLayout(description: description, creationTime: 0, userData: [])
        begin()
    }

    private mutating func begin() {
        layout = MovieLayout(description: description, creationTime: 0, userData: [])
        for track in layout.tracks {
            var clock = TrackClock(timescale: track.timescale)
            clock.origin = -Self.lead * Int64(track.timescale)
            clocks[track.kind] = clock
        }
        head = MovieBox.openHead + MovieBox.open(layout)
    }

    /// Adds packets in decoding order, and returns the fragments that are now complete.
    mutating func push(_ packets: [EncodedPacket]) -> [Piece] {
        var pieces: [Piece] = []
        for packet in packets where packet.track != .data {
            let isLeading = packet.track == description.leadingKind
            let beginsGOP = isLeading && packet.isKeyframe && packet.track == .video
            let isCut = beginsGOP || span(to: packet) >= (isLeading ? Self.length : Self.patience)
            if isCut, let piece = flush(next: packet) { pieces.append(piece) }
            if !description.holds(packet) {
                if let piece = flush(next: nil) { pieces.append(piece) }
                description = description.updated(by: packet)
                begin()
                isHeadDue = true
            }
            waiting.append(packet)
        }
        return pieces
    }

    private func span(to packet: EncodedPacket) -> Duration {
        guard let first = waiting.first(where: { $0.track == packet.track }) else { return .zero }
        return packet.programDts - first.programDts
    }

    private mutating func flush(next: EncodedPacket?) -> Piece? {
        guard !waiting.isEmpty else { return nil }
        defer { waiting.removeAll(keepingCapacity: true) }
        var runs: [Fragment.Run] = []
        var payloads: [EncodedPacket] = []
        for track in layout.tracks {
            let packets = waiting.filter { $0.track == track.kind }
            guard let clock = clocks[track.kind], !packets.isEmpty else { continue }
            let following = next.flatMap { $0.track == track.kind ? $0 : nil }
            runs.append(Fragment.Run(track: track, samples: clock.entries(packets, next: following)))
            payloads += packets
        }
        sequence &+= 1
        var bytes = isHeadDue ? head : []
        bytes += Fragment(sequence: sequence, runs: runs).encode().header
        for packet in payloads { packet.payload.withUnsafeBytes { bytes.append(contentsOf: $0) } }
        defer { isHeadDue = false }
        let leading = payloads.first { $0.track == description.leadingKind }
        return Piece(bytes: bytes, beginsGOP: leading?.isKeyframe ?? false)
    }
}
