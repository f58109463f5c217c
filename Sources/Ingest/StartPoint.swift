// SPDX-License-Identifier: Apache-2.0

internal import Media

/// Where delivery begins in a file, or in the part of a file behind a change of its coding.
enum StartPoint: Sendable, Hashable {
    /// This long after the first frame of the file or part.
    case moment(Duration)
    /// At the frame nearest to this timestamp of the video. Used for a part if no frame was decoded between the point
    /// that was sought in the file and the change.
    case stamp(Timestamp)

    /// The first frame.
    static let beginning = StartPoint.moment(.zero)
}
