// SPDX-License-Identifier: Apache-2.0

/// Where delivery of a file, or of the part of a file behind a change of its coding, begins.
enum StartPoint: Sendable, Hashable {
    /// This long after the first frame.
    case moment(Duration)
    /// At this timestamp of the video: the part begins near it, because it was sought.
    case stamp(Duration)

    /// The first frame.
    static let beginning = StartPoint.moment(.zero)
}
