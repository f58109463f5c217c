// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Ignores requests for keyframes. It is used where only the sender decides when to make keyframes.
struct NoKeyframes: KeyframeRequester {
    func requestKeyframe(at programTime: Int64?) {}
}
