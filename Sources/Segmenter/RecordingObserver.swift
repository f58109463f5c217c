// SPDX-License-Identifier: Apache-2.0

package import Archive

/// Is informed of what a recorder did; implemented for example by a catalogue or an uploader. The methods are called on
/// the recorder's and the closer's queues and must not block.
package protocol RecordingObserver: AnyObject, Sendable {
    /// A file has its final name and is complete.
    func segmentFinished(_ record: SegmentRecord)
    /// The file `fileName`, which a crash or a failed close left open, is complete now; its content must be read from
    /// the file.
    func segmentRecovered(fileName: String)
    /// A gap has ended; `from` and `to` are program times, `start` is the wall-clock time of `from`.
    func gapEnded(_ gap: RecordingGap, channel: String, start: UTCTime)
    /// Retention deleted the finished file `fileName`.
    func segmentDeleted(fileName: String)
}

extension RecordingObserver {
    package func segmentDeleted(fileName: String) {}
}
