// SPDX-License-Identifier: Apache-2.0

extension Int {
    /// Whether the occurrence with this number, counted from 1, is logged: the first, second, fourth, eighth, and so on.
    /// So the log tells of an event that repeats, and repeating it for hours adds few lines.
    package var isLoggedOccurrence: Bool { self & (self - 1) == 0 }
}
