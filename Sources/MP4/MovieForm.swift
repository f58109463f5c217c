// SPDX-License-Identifier: Apache-2.0

/// The form of a movie's boxes.
package enum MovieForm: String, Sendable, CaseIterable {
    /// ISO/IEC 14496-12 and 14496-14.
    case mp4
    /// Apple's QuickTime File Format.
    case mov
    /// Like ``mp4``, but in fragments (ISO/IEC 14496-12, 8.8), so that it can be played while it is received.
    case fragmented
}
