// SPDX-License-Identifier: Apache-2.0

package import Media

/// One place that media comes from, opened and ready to deliver.
package protocol MediaSource: AnyObject, Sendable {
    /// What the source turned out to be when it was opened.
    var description: SourceDescription { get }
    /// Begins to deliver into `sink`, on a thread of the source's own, in these formats; nil means that the track is
    /// not wanted. Only the first call counts.
    func start(into sink: any SourceSink, video: VideoFormat?, audio: AudioFormat?)
    /// Ends delivery, and blocking reads with it. Returns at once; may be called on any thread, any number of times.
    /// A delivery that has begun may still arrive.
    func stop()
    /// What the source is doing. May be read on any thread.
    var status: SourceStatus { get }
}
