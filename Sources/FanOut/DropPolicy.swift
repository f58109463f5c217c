// SPDX-License-Identifier: Apache-2.0

package import Media

/// Why a packet did not reach an output.
package enum DropCause: String, Sendable, Codable, CodingKeyRepresentable, CaseIterable {
    /// The output was not connected, and what it held became too old.
    case notConnected = "not_connected"
    /// The queue passed the first threshold; no other frame refers to this one.
    case disposable
    /// The queue passed the second threshold; video waits for the next keyframe.
    case congestion
    /// The queue reached its bound and was emptied to its newest keyframe.
    case overflow
    /// The frame may refer to one that was dropped before.
    case awaitingKeyframe = "awaiting_keyframe"
}

/// Decides what a live output's queue takes. Pure: it sees each packet and how full the queue is, and answers.
///
/// After a refusal nothing passes that could refer to the refused frame, until the next keyframe.
package struct DropPolicy: Sendable {
    /// What to do with a packet.
    package enum Decision: Sendable, Equatable {
        /// Append it.
        case accept
        /// Do not append it.
        case refuse(DropCause)
        /// Empty the queue to its newest keyframe, then ask again.
        case flush
    }

    /// What the output is doing.
    package enum Mode: Sendable, Equatable {
        /// Not connected yet, never was: everything is kept up to the bound, so that the output can begin with the
        /// program's first frame.
        case holdingStart
        /// Not connected any more: only what follows the newest keyframe is kept.
        case holding
        /// Just connected: the backlog is on its way out and does not count as congestion.
        case catchingUp
        /// On air.
        case live
    }

    private let maximumBytes: Int
    private let disposableDepth: Int64
    private let videoDepth: Int64
    private let maximumDepth: Int64
    /// The track at whose keyframes a decoder can begin.
    let leading: TrackKind
    /// What the output is doing.
    package private(set) var mode: Mode
    /// Whether video is refused until the next keyframe.
    package private(set) var awaitsKeyframe = true
    /// Whether audio is refused until then, too: a stream that joins the program begins with a frame.
    private var beginsAtKeyframe = false
    /// What the bounds are wider by until the output has caught up: the GOP that it joined with, in nanoseconds and bytes.
    private var head: (depth: Int64, bytes: Int) = (0, 0)

    /// A policy for an output that is not connected yet, and whose program can be joined at keyframes of `leading`.
    package init(limits: QueueLimits, mode: Mode = .holdingStart, leading: TrackKind = .video) {
        maximumBytes = limits.maximumBytes
        disposableDepth = limits.disposableThreshold.inNanoseconds
        videoDepth = limits.videoThreshold.inNanoseconds
        maximumDepth = limits.maximumDuration.inNanoseconds
        self.mode = mode
        self.leading = leading
    }

    /// Whether a decoder can begin with `packet`.
    func canBegin(_ packet: EncodedPacket) -> Bool { packet.track == leading && packet.isKeyframe }

    /// The output came on air with what is queued.
    package mutating func connected() {
        beginsAtKeyframe = mode == .holding && awaitsKeyframe
        mode = .catchingUp
    }

    /// The output joins on air with the GOP under way, of so many nanoseconds and bytes, which is queued from its keyframe
    /// on whatever its length.
    mutating func joined(depth: Int64, bytes: Int) {
        (awaitsKeyframe, beginsAtKeyframe) = (false, false)
        head = (depth, bytes)
        mode = .catchingUp
    }

    /// The output lost its connection; the caller empties the queue to its newest keyframe.
    package mutating func disconnected() { mode = .holding }

    /// The queue was emptied; if no keyframe remained, video waits for the next one.
    package mutating func flushed(keyframeRemains: Bool) {
        if !keyframeRemains { awaitsKeyframe = true }
        head = (0, 0)
        if mode == .holdingStart { mode = .holding }
    }

    /// Whether an output on air must wait for a keyframe although a queue of `depth` (nanoseconds) has room.
    package func needsKeyframe(depth: Int64) -> Bool {
        !mode.isHolding && awaitsKeyframe && depth < disposableDepth
    }

    /// Decides on `packet` while the queue holds `depth` of media time (nanoseconds, the packet included) and `bytes`.
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
            (awaitsKeyframe, beginsAtKeyframe) = (false, false)
            return .accept
        }
        if awaitsKeyframe { return .refuse(.awaitingKeyframe) }
        guard mode == .live else { return .accept }
        if depth >= videoDepth {
            awaitsKeyframe = true
            return .refuse(.congestion)
        }
        if packet.isDisposable, depth >= disposableDepth { return .refuse(.disposable) }
        return .accept
    }
}

extension DropPolicy.Mode {
    /// Whether the output is not connected.
    package var isHolding: Bool { self == .holdingStart || self == .holding }
}
