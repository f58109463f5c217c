// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Ignores requests for keyframes. It is used for packets that a sender encoded, for audio, and for streams whose
/// keyframes are requested directly from their encoder.
struct NoKeyframes: KeyframeRequester {
    func requestKeyframe(at programTime: ProgramInstant?) {}
}
