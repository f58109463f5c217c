// SPDX-License-Identifier: Apache-2.0

package import Media

/// Why a packet did not reach an output.
package enum DropCause: String, Sendable, Codable, CodingKeyRepresentable, CaseIterable {
    /// The output was not connected, and the queued packet became too old. Or the attempt, or the output, ended before
    /// the packet was sent.
    case notConnected = "not_connected"
    /// The queue exceeded its first threshold (`disposableThreshold`), and the packet is a frame to which no other
    /// frame refers.
    case disposable
    /// The queue exceeded its second threshold (`videoThreshold`). The frame was refused, and the queue accepts no
    /// video until the next keyframe.
    case congestion
    /// The packet was removed from the queue, because the queue reached its limit on air, or because the target
    /// accepted nothing for too long or lost data.
    case overflow
    /// The frame may refer to a frame that was dropped before, so the queue waits for a keyframe.
    case awaitingKeyframe = "awaiting_keyframe"
}

/// Decides which packets a live output's queue accepts. The decision depends only on the packets, on the queue's fill
/// level, and on the output's connection state. The policy reads no clock and does no I/O.
///
/// After a frame was refused to which other frames refer, the policy refuses all frames until the next keyframe.
package struct DropPolicy: Sendable {
    /// What to do with a packet.
    package enum Decision: Sendable, Equatable {
        /// Append the packet to the queue.
        case accept
        /// Do not append the packet, for this reason.
        case refuse(DropCause)
        /// Remove all packets before the newest queued keyframe. Then ask again for a decision about the packet.
        case flush
    }

    /// The output's connection state.
    package enum Mode: Sendable, Equatable {
        /// The output was never connected. The queue keeps everything up to its limit, so that the output can begin
        /// with the program's first frame.
        case holdingStart
        /// The output is not connected, and does not begin with the program's first frame. The queue keeps only the
        /// packets from the newest keyframe on.
        case holding
        /// The output was just connected and is sending its backlog. The backlog does not count as congestion.
        case catchingUp
        /// The output is on air and has sent its backlog.
        case live
    }

    private let maximumBytes: Int
    private let disposableDepth: Int64
    private let videoDepth: Int64
    private let maximumDepth: Int64
    /// The track at whose keyframes a decoder can start.
    let leading: TrackKind
    /// The output's connection state.
    package private(set) var mode: Mode
    /// Whether frames of the leading track are refused until the next keyframe.
    package private(set) var awaitsKeyframe = true
    /// Whether the tracks other than the leading one are refused until the next keyframe, too. An output that joins a
    /// running program begins with a video frame and not with audio.
    private var beginsAtKeyframe = false
    /// Whether the last accepted packet of the leading track is a keyframe.
    private var isAfterKeyframe = false
    /// Whether the receiver's video is frozen. This becomes true when the frame directly after a keyframe is refused
    /// for congestion, and when the queue overflows on air. It becomes false when a frame other than a keyframe is
    /// accepted.
    package private(set) var standsStill = false
    /// The duration (nanoseconds) and the size (bytes) of the GOP with which the output joined. The queue's limits are
    /// extended by these two values until the output has caught up.
    private var head: (depth: Int64, bytes: Int) = (0, 0)

    /// Creates a policy for an output that is not connected yet. Decoders can start at keyframes of `leading`.
    package init(limits: QueueLimits, mode: Mode = .holdingStart, leading: TrackKind = .video) {
        maximumBytes = limits.maximumBytes
        disposableDepth = limits.disposableThreshold.inNanoseconds
        videoDepth = limits.videoThreshold.inNanoseconds
        maximumDepth = limits.maximumDuration.inNanoseconds
        self.mode = mode
        self.leading = leading
    }

    /// Whether a decoder can start at `packet`.
    func canBegin(_ packet: EncodedPacket) -> Bool { packet.track == leading && packet.isKeyframe }

    /// Records that the output went on air and will send the queued packets.
    package mutating func connected() {
        beginsAtKeyframe = mode == .holding && awaitsKeyframe
        mode = .catchingUp
    }

    /// Records that the output joins the running program with the current GOP, which has the duration `depth`
    /// (nanoseconds) and the size `bytes`. The whole GOP is queued, however long it is.
    mutating func joined(depth: Int64, bytes: Int) {
        (awaitsKeyframe, beginsAtKeyframe) = (false, false)
        head = (depth, bytes)
        mode = .catchingUp
    }

    /// Records that the output lost its connection. The caller must remove all packets before the newest queued
    /// keyframe.
    package mutating func disconnected() { mode = .holding }

    /// Records that packets were removed from the queue. If no keyframe remains in the queue, video waits for the next
    /// keyframe.
    package mutating func flushed(keyframeRemains: Bool) {
        if !keyframeRemains { awaitsKeyframe = true }
        if !mode.isHolding { standsStill = true }
        head = (0, 0)
        if mode == .holdingStart { mode = .holding }
    }

    /// Whether the output is on air and waits for a keyframe, although its queue has room. `depth` is the queued media
    /// time in nanoseconds.
    package func needsKeyframe(depth: Int64) -> Bool { !mode.isHolding && awaitsKeyframe && depth < disposableDepth }

    /// Decides what to do with `packet`. `depth` is the queued media time in nanoseconds, `packet` included. `bytes` is
    /// the queued payload, `packet` not included.
    package mutating func decide(_ packet: EncodedPacket, depth: Int64, bytes: Int) -> Decision {
        if mode == .catchingUp, depth < disposableDepth {
            mode = .live
            head = (0, 0)
        }
        let isOverBound =
            depth >= maximumDepth + head.depth || bytes + packet.payload.count > maximumBytes + head.bytes
        if isOverBound, bytes > 0 { return .flush }
        guard packet.track == leading else {
            return awaitsKeyframe && (mode == .holding || beginsAtKeyframe) ? .refuse(.awaitingKeyframe) : .accept
        }
        if packet.isKeyframe {
            if mode == .holding, bytes > 0 { return .flush }
            (awaitsKeyframe, beginsAtKeyframe, isAfterKeyframe) = (false, false, true)
            return .accept
        }
        if awaitsKeyframe { return .refuse(.awaitingKeyframe) }
        if mode == .live, depth >= videoDepth {
            awaitsKeyframe = true
            if isAfterKeyframe { standsStill = true }
            return .refuse(.congestion)
        }
        if mode == .live, packet.isDisposable, depth >= disposableDepth { return .refuse(.disposable) }
        (isAfterKeyframe, standsStill) = (false, false)
        return .accept
    }
}

extension DropPolicy.Mode {
    /// Whether the output is not connected.
    package var isHolding: Bool { self == .holdingStart || self == .holding }
}
