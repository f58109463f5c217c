// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Ignores requests for keyframes, because only the sender decides when to make them.
struct NoKeyframes: KeyframeRequester {
    func requestKeyframe(at programTime: Int64?) {}
}
