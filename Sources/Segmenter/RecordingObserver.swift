// SPDX-License-Identifier: Apache-2.0

package import Archive

/// An object that is told what a recorder did, such as a catalogue or an upload. Its methods are called on the
/// recorder's and the closer's queues: nothing may block there.
package protocol RecordingObserver: AnyObject, Sendable {
    /// A file has its final name and is complete.
    func segmentFinished(_ record: SegmentRecord)
    /// The file `fileName`, left open by a crash or a failed close, is complete now; what is in it must be read from it.
    func segmentRecovered(fileName: String)
    /// A gap is over; `from` and `to` are program times, and `start` is the wall clock's time of `from`.
    func gapEnded(_ gap: RecordingGap, channel: String, start: UTCTime)
    /// The finished file `fileName` was deleted because no more is kept.
    func segmentDeleted(fileName: String)
}

extension RecordingObserver {
    package func segmentDeleted(fileName: String) {}
}
