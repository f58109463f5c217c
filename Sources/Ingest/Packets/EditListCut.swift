// SPDX-License-Identifier: Apache-2.0

/// Decides which video packets of a file are left out of a copy. Left out are the packets whose frames the file's edit
/// list cuts off, and the packets whose frames refer to such frames: without a decoder, video can begin only at a
/// keyframe.
///
/// This is a value without a clock or I/O of its own.
struct EditListCut {
    /// What is done with a packet.
    enum Decision: Equatable {
        case keep
        /// The edit list cuts off the packet's frame.
        case cutOff
        /// The packet's frame might refer to a frame that is cut off.
        case undecodable
    }

    /// Whether packets are left out up to the next keyframe that the edit list does not cut off.
    private var awaitsKeyframe = false
    /// The presentation time of the last keyframe that was kept, in ticks.
    private var keyframe: Int64?

    /// Decides about the next packet in decoding order, which is shown at `pts`, in ticks. `isHidden` means that the
    /// edit list cuts the packet off.
    mutating func decide(pts: Int64, isKeyframe: Bool, isHidden: Bool) -> Decision {
        if isHidden {
            // A frame that is shown before the kept keyframe is never a reference for the frames that are shown after
            // the keyframe.
            let isLeading = !awaitsKeyframe && keyframe.map { pts < $0 } ?? false
            if !isLeading { awaitsKeyframe = true }
            return .cutOff
        }
        if isKeyframe { (awaitsKeyframe, keyframe) = (false, pts) }
        return awaitsKeyframe ? .undecodable : .keep
    }
}
