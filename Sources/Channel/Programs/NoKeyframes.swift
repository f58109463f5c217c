// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Makes no keyframes: they come when the sender makes them.
struct NoKeyframes: KeyframeRequester {
    func requestKeyframe(at programTime: Int64?) {}
}
