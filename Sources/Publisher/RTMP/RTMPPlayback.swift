// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import RTMP

/// What a player currently wants of the stream. What it does not want does not count as lost.
struct RTMPPlayback {
    private let leading: TrackKind
    private var isPaused = false
    private var unwanted: Set<TrackKind> = []
    /// The tracks that resume at the next keyframe of the leading one.
    private var resuming: Set<TrackKind> = []

    /// A player that wants everything of a stream that can be joined at keyframes of `leading`.
    init(leading: TrackKind) { self.leading = leading }

    /// Whether it wants every packet.
    var isWhole: Bool { !isPaused && unwanted.isEmpty && resuming.isEmpty }

    /// Takes a command of the player.
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

    /// Returns whether the player gets `packet`, the next one of the stream.
    mutating func takes(_ packet: EncodedPacket) -> Bool {
        if isPaused { return false }
        if packet.isKeyframe, packet.track == leading || packet.track == .video { resuming = [] }
        return !unwanted.contains(packet.track) && !resuming.contains(packet.track)
    }
}
