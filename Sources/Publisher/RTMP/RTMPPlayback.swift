// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import RTMP

/// Which packets a player currently wants. Packets that it does not want do not count as lost.
struct RTMPPlayback {
    private let leading: TrackKind
    private var isPaused = false
    private var unwanted: Set<TrackKind> = []
    /// The tracks that resume at the leading track's next keyframe.
    private var resuming: Set<TrackKind> = []

    /// A player that wants everything. Decoders can start at keyframes of `leading`.
    init(leading: TrackKind) { self.leading = leading }

    /// Whether the player wants every packet.
    var isWhole: Bool { !isPaused && unwanted.isEmpty && resuming.isEmpty }

    /// Follows a command of the player.
    mutating func obey(_ wish: RTMPPlayerCommand) {
        switch wish {
        case .stop: isPaused = true
        case .pause(let isPaused):
            if self.isPaused, !isPaused { resuming = [.video, .audio, .data] }
            self.isPaused = isPaused
        case .video(let isWanted): want(.video, isWanted)
        case .audio(let isWanted): want(.audio, isWanted)
        }
    }

    private mutating func want(_ track: TrackKind, _ isWanted: Bool) {
        if !isWanted {
            unwanted.insert(track)
        } else if unwanted.remove(track) != nil, track == .video {
            resuming.insert(track)
        }
    }

    /// Returns whether the player gets `packet`, the stream's next packet.
    mutating func takes(_ packet: EncodedPacket) -> Bool {
        if isPaused { return false }
        if packet.isKeyframe, packet.track == leading || packet.track == .video { resuming = [] }
        return !unwanted.contains(packet.track) && !resuming.contains(packet.track)
    }
}
