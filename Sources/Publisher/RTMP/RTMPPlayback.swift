// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import RTMP

/// Decides which packets a player wants, according to its commands (pause, receiveAudio and the like). Packets that the
/// player does not want do not count as lost.
struct RTMPPlayback {
    private let leading: TrackKind
    private var isPaused = false
    private var unwanted: Set<TrackKind> = []
    /// The tracks that the player wants again, but gets only from the next keyframe of the leading track on.
    private var resuming: Set<TrackKind> = []

    /// Creates the state of a player that wants all packets. `leading` is the track at whose keyframes decoding can
    /// start.
    init(leading: TrackKind) { self.leading = leading }

    /// Whether the player wants all packets.
    var isWhole: Bool { !isPaused && unwanted.isEmpty && resuming.isEmpty }

    /// Applies a command from the player.
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

    /// Returns whether `packet`, the next packet of the stream, is sent to the player.
    mutating func takes(_ packet: EncodedPacket) -> Bool {
        if isPaused { return false }
        if packet.isKeyframe, packet.track == leading || packet.track == .video { resuming = [] }
        return !unwanted.contains(packet.track) && !resuming.contains(packet.track)
    }
}
