// SPDX-License-Identifier: Apache-2.0

/// Decides which video packets of a file are left out of a copy, because the file's edit list cuts off their frames or
/// frames to which they refer. Without a decoder, video can begin only at a keyframe.
///
/// A value without a clock or I/O of its own.
struct EditListCut {
    /// What is done with a packet.
    enum Decision: Equatable {
        case keep
        /// The edit list cuts off its frame.
        case cutOff
        /// Its frame may refer to one that is cut off.
        case undecodable
    }

    /// Whether packets are left out up to the next keyframe that is shown.
    private var awaitsKeyframe = false
    /// The presentation time of the last keyframe that was kept, in ticks.
    private var keyframe: Int64?

    /// Decides about the next packet in decoding order, which is shown at `pts`, in ticks. `isHidden` packets are those
    /// that the edit list cuts off.
    mutating func decide(pts: Int64, isKeyframe: Bool, isHidden: Bool) -> Decision {
        if isHidden {
            // A frame that is shown before the kept keyframe is not referred to by the frames after that.
            let isLeading = !awaitsKeyframe && keyframe.map { pts < $0 } ?? false
            if !isLeading { awaitsKeyframe = true }
            return .cutOff
        }
        if isKeyframe { (awaitsKeyframe, keyframe) = (false, pts) }
        return awaitsKeyframe ? .undecodable : .keep
    }
}
