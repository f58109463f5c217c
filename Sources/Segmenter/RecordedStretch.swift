// SPDX-License-Identifier: Apache-2.0

package import Archive

/// The part of its program that a recorder has on disk, in nanoseconds of program time.
package struct RecordedStretch: Sendable, Equatable {
    /// The recorder's run; program times can be compared within one run.
    package var run: String
    /// Start of the first frame of the first file.
    package var start: Int64
    /// End of the last frame on disk.
    package var end: Int64
    /// Start of the first frame of the newest file.
    package var fileStart: Int64
    /// When the frame at ``fileStart`` was on air.
    package var fileTime: UTCTime

    /// A stretch with these times.
    package init(run: String, start: Int64, end: Int64, fileStart: Int64, fileTime: UTCTime) {
        (self.run, self.start, self.end) = (run, start, end)
        (self.fileStart, self.fileTime) = (fileStart, fileTime)
    }

    /// Returns when program time `time` was on air, according to the newest file.
    package func time(of time: Int64) -> UTCTime {
        UTCTime(milliseconds: fileTime.milliseconds + (time - fileStart) / 1_000_000)
    }
}
