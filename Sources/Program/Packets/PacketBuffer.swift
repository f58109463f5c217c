// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Synchronization

/// Whether the packets of a source are needed. It is checked for each packet. Any thread may use it.
package final class PacketSwitch: Sendable {
    private let state = Mutex(true)

    /// A switch that is on.
    package init() {}

    /// Whether the packets are needed.
    package var isOn: Bool {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

/// Stores a live source's packets, with times on the source's timeline, until the program reaches them. Packets that
/// were taken are kept from the newest keyframe on, for a consumer that starts later. Any thread may use it.
final class PacketBuffer: Sendable {
    private struct Track {
        /// The packets in order of arrival.
        var packets: [EncodedPacket] = []
        /// How many of the packets were taken.
        var taken = 0
    }

    private struct State {
        var tracks: [TrackKind: Track] = [:]
        var bytes = 0
        var refusal: String?
        /// Whether frames arrived that were not stored, so that the next stored frame must be a keyframe.
        var awaitsKeyframe = false

        mutating func removeFirst(_ count: Int, of kind: TrackKind) {
            guard var track = tracks.removeValue(forKey: kind) else { return }
            bytes -= track.packets.prefix(count).reduce(0) { $0 + $1.payload.count }
            track.packets.removeFirst(count)
            track.taken = max(0, track.taken - count)
            tracks[kind] = track
        }
    }

    /// How long packets are kept if no consumer takes them, in nanoseconds: longer than a GOP, so that a new consumer
    /// gets its keyframe. Also the maximum number of bytes that are kept. If a source is shown with a delay, more is
    /// kept, because of the delay.
    private static let (longest, mostBytes): (Int64, Int) = (12_000_000_000, 96 << 20)
    /// The number of additional bytes for each second of delay.
    private static let bytesPerSecond = 16 << 20
    /// How much audio from before a keyframe is kept, in nanoseconds.
    private static let audioBefore: Int64 = 500_000_000

    private let longest: Int64
    private let mostBytes: Int
    private let wanted: PacketSwitch
    private let state = Mutex(State())

    /// A buffer for a source that is shown `delay` after it arrives. The buffer stays empty while its packets are not
    /// `wanted`.
    init(delay: Duration, wanted: PacketSwitch) {
        longest = Self.longest + delay.inNanoseconds
        mostBytes = Self.mostBytes + Int(delay.inSeconds) * Self.bytesPerSecond
        self.wanted = wanted
    }

    /// Why the source's packets are unavailable; nil if they are available, or if that is not known yet.
    var refusal: String? { state.withLock { $0.refusal } }

    /// Records that the source is open. Earlier packets remain, because the program has not reached them yet.
    func begin(refusal: String?) { state.withLock { $0.refusal = refusal } }

    /// Adds a packet. The stored packets begin with a keyframe, even after packets were not wanted for a while.
    func put(_ packet: EncodedPacket) {
        let isWanted = wanted.isOn
        state.withLock { state in
            guard isWanted else {
                (state.tracks, state.bytes, state.awaitsKeyframe) = ([:], 0, true)
                return
            }
            if packet.track == .video, state.awaitsKeyframe {
                guard packet.isKeyframe else { return }
                state.awaitsKeyframe = false
            }
            state.tracks[packet.track, default: Track()].packets.append(packet)
            state.bytes += packet.payload.count
            for kind in state.tracks.keys {
                while let first = state.tracks[kind]?.packets.first,
                    packet.dtsNanoseconds - first.dtsNanoseconds > longest || state.bytes > mostBytes
                {
                    state.removeFirst(1, of: kind)
                }
            }
        }
    }

    /// Lets the next consumer begin with the newest keyframe that was taken.
    func rewind() {
        state.withLock { state in
            for kind in state.tracks.keys { state.tracks[kind]?.taken = 0 }
        }
    }

    /// Takes the packets of each track that were not taken before, up to the first packet for which `place` returns
    /// nil. Returns the packets that `place` returned.
    func take(_ place: (EncodedPacket) -> EncodedPacket?) -> [EncodedPacket] {
        state.withLock { state in
            var taken: [EncodedPacket] = []
            var keyframe: Int?
            for (kind, track) in state.tracks {
                for index in track.taken..<track.packets.count {
                    guard let placed = place(track.packets[index]) else { break }
                    taken.append(placed)
                    if kind == .video, placed.isKeyframe { keyframe = index }
                    state.tracks[kind]?.taken = index + 1
                }
            }
            if let keyframe { forget(before: keyframe, &state) }
            return taken
        }
    }

    /// Forgets taken packets that are not needed by a consumer which begins with this keyframe.
    private func forget(before keyframe: Int, _ state: inout State) {
        guard let time = state.tracks[.video]?.packets[keyframe].dtsNanoseconds else { return }
        state.removeFirst(keyframe, of: .video)
        guard let audio = state.tracks[.audio] else { return }
        let old = audio.packets.prefix(audio.taken).prefix { $0.dtsNanoseconds < time - Self.audioBefore }
        state.removeFirst(old.count, of: .audio)
    }
}
