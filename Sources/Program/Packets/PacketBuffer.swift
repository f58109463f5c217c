// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Synchronization

/// A switch that says whether the packets of a source are needed. The source's packet buffer checks it for each packet.
/// Any thread may use it.
package final class PacketSwitch: Sendable {
    private let state = Mutex(true)

    /// Creates a switch that is on.
    package init() {}

    /// Whether the source's packets are needed.
    package var isOn: Bool {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

/// Stores the packets of a live source until the program reaches their times. The packets have times on the source's
/// timeline. Packets that were taken are kept from the newest keyframe on, for a consumer that starts later. Any thread
/// may use it.
final class PacketBuffer: Sendable {
    private struct Track {
        /// The packets in order of arrival.
        var packets: [EncodedPacket] = []
        /// How many packets at the beginning of `packets` were already taken.
        var taken = 0
    }

    private struct State {
        var tracks: [TrackKind: Track] = [:]
        var bytes = 0
        var refusal: String?
        /// Whether packets were not stored for a while, so that the next stored frame must be a keyframe.
        var awaitsKeyframe = false

        mutating func removeFirst(_ count: Int, of kind: TrackKind) {
            guard var track = tracks.removeValue(forKey: kind) else { return }
            bytes -= track.packets.prefix(count).reduce(0) { $0 + $1.payload.count }
            track.packets.removeFirst(count)
            track.taken = max(0, track.taken - count)
            tracks[kind] = track
        }
    }

    /// The limits for packets that no consumer takes: their age and the sum of their bytes. The age is longer than a
    /// GOP, so that a new consumer gets a keyframe. For a source that is shown with a delay, both limits are higher.
    private static let (longest, mostBytes) = (Duration.seconds(12), 96 << 20)
    /// By how many bytes the limit for waiting packets is higher for each second of the source's delay.
    private static let bytesPerSecond = 16 << 20
    /// Audio that was taken is kept from this long before the kept keyframe on.
    private static let audioBefore = Duration.milliseconds(500)

    private let longest: Duration
    private let mostBytes: Int
    private let wanted: PacketSwitch
    private let state = Mutex(State())

    /// Creates a buffer for a source that is shown with the delay `delay` after its arrival. While `wanted` is off, no
    /// packets are stored.
    init(delay: Duration, wanted: PacketSwitch) {
        longest = Self.longest + delay
        mostBytes = Self.mostBytes + Int(delay.inSeconds) * Self.bytesPerSecond
        self.wanted = wanted
    }

    /// Why the source's packets are unavailable, for operators; nil if they are available, or if this is not known yet.
    var refusal: String? { state.withLock { $0.refusal } }

    /// Records that the source was opened, and why its packets are unavailable, if they are unavailable. Packets from
    /// before this call remain, because the program has not reached their times yet.
    func begin(refusal: String?) { state.withLock { $0.refusal = refusal } }

    /// Adds a packet. While packets are not wanted, drops this packet and all stored ones. If packets were not wanted
    /// before, frames are stored only from the next keyframe on.
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
                    packet.sourceDts - first.sourceDts > longest || state.bytes > mostBytes
                {
                    state.removeFirst(1, of: kind)
                }
            }
        }
    }

    /// Makes the kept packets available again, so that the next consumer begins with the newest keyframe that was
    /// taken.
    func rewind() {
        state.withLock { state in
            for kind in state.tracks.keys { state.tracks[kind]?.taken = 0 }
        }
    }

    /// Takes packets that were not taken before: in each track, up to the first packet for which `place` returns nil.
    /// Returns the results of `place`.
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

    /// Drops taken packets that a consumer does not need if it begins with the keyframe at index `keyframe`.
    private func forget(before keyframe: Int, _ state: inout State) {
        guard let time = state.tracks[.video]?.packets[keyframe].sourceDts else { return }
        state.removeFirst(keyframe, of: .video)
        guard let audio = state.tracks[.audio] else { return }
        let old = audio.packets.prefix(audio.taken).prefix { $0.sourceDts < time - Self.audioBefore }
        state.removeFirst(old.count, of: .audio)
    }
}
