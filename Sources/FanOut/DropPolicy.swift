// SPDX-License-Identifier: Apache-2.0

package import Media

/// Why a packet did not reach an output.
package enum DropCause: String, Sendable, Codable, CodingKeyRepresentable, CaseIterable {
    /// The output was not connected, and the queued packet became too old; or the attempt or the output ended before
    /// it was sent.
    case notConnected = "not_connected"
    /// The queue exceeded the first threshold, and no other frame refers to this one.
    case disposable
    /// The queue exceeded the second threshold, and video waits for the next keyframe.
    case congestion
    /// The queue reached its limit and was emptied to its newest keyframe.
    case overflow
    /// The frame may refer to a frame that was dropped before.
    case awaitingKeyframe = "awaiting_keyframe"
}

/// Decides which packets a live output's queue accepts. Pure: its inputs are each packet and the queue's fill level.
///
/// After a frame was refused, no frame that may refer to it is accepted until the next keyframe.
package struct DropPolicy: Sendable {
    /// What to do with a packet.
    package enum Decision: Sendable, Equatable {
        /// Append the packet.
        case accept
        /// Do not append the packet.
        case refuse(DropCause)
        /// Empty the queue to its newest keyframe, then ask again.
        case flush
    }

    /// The output's connection state.
    package enum Mode: Sendable, Equatable {
        /// Never connected yet: everything is kept up to the limit, so that the output can begin with the program's
        /// first frame.
        case holdingStart
        /// Disconnected: only packets from the newest keyframe on are kept.
        case holding
        /// Just connected: the backlog is being sent and does not count as congestion.
        case catchingUp
        /// On air.
        case live
    }

    private let maximumBytes: Int
    private let disposableDepth: Int64
    private let videoDepth: Int64
    private let maximumDepth: Int64
    /// The track whose keyframes are the points where a decoder can start.
    let leading: TrackKind
    /// The output's connection state.
    package private(set) var mode: Mode
    /// Whether video is refused until the next keyframe.
    package private(set) var awaitsKeyframe = true
    /// Whether audio is refused until then, too: an output that joins a running program begins with a video frame.
    private var beginsAtKeyframe = false
    /// Whether the last accepted packet of the leading track is a keyframe.
    private var isAfterKeyframe = false
    /// Whether the receiver gets only still frames: since a frame was last accepted that refers to another, the frames
    /// behind a keyframe were refused, or the queue was emptied on air.
    package private(set) var standsStill = false
    /// By how much the limits are extended until the output has caught up, in nanoseconds and bytes: by the GOP with
    /// which it joined.
    private var head: (depth: Int64, bytes: Int) = (0, 0)

    /// A policy for an output that is not connected yet. Decoders can start at keyframes of `leading`.
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

    /// The output went on air with the queued packets.
    package mutating func connected() {
        beginsAtKeyframe = mode == .holding && awaitsKeyframe
        mode = .catchingUp
    }

    /// The output joins on air with the current GOP, of this duration in nanoseconds and this size. The GOP is queued
    /// from its keyframe on, regardless of its length.
    mutating func joined(depth: Int64, bytes: Int) {
        (awaitsKeyframe, beginsAtKeyframe) = (false, false)
        head = (depth, bytes)
        mode = .catchingUp
    }

    /// The output lost its connection; the caller empties the queue to its newest keyframe.
    package mutating func disconnected() { mode = .holding }

    /// The queue was emptied; if no keyframe remained, video waits for the next keyframe.
    package mutating func flushed(keyframeRemains: Bool) {
        if !keyframeRemains { awaitsKeyframe = true }
        if !mode.isHolding { standsStill = true }
        head = (0, 0)
        if mode == .holdingStart { mode = .holding }
    }

    /// Whether an output on air waits for a keyframe although a queue with `depth` nanoseconds has room.
    package func needsKeyframe(depth: Int64) -> Bool { !mode.isHolding && awaitsKeyframe && depth < disposableDepth }

    /// Decides about `packet` while the queue contains `depth` of media time (nanoseconds, the packet included) and
    /// `bytes`.
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
