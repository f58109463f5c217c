// SPDX-License-Identifier: Apache-2.0

package import Archive

/// What of its program a recorder has on the disk, in nanoseconds of program time.
package struct RecordedStretch: Sendable, Equatable {
    /// Names the recorder's run: program times of one run can be compared.
    package var run: String
    /// Where the first frame of the first file begins.
    package var start: Int64
    /// Where the last frame on the disk ends.
    package var end: Int64
    /// Where the first frame of the newest file begins.
    package var fileStart: Int64
    /// When that frame was on air.
    package var fileTime: UTCTime

    /// A stretch of these times.
    package init(run: String, start: Int64, end: Int64, fileStart: Int64, fileTime: UTCTime) {
        (self.run, self.start, self.end) = (run, start, end)
        (self.fileStart, self.fileTime) = (fileStart, fileTime)
    }

    /// When program time `time` was on air, by the newest file.
    package func time(of time: Int64) -> UTCTime {
        UTCTime(milliseconds: fileTime.milliseconds + (time - fileStart) / 1_000_000)
    }
}
