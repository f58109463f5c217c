// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// A source of frames and audio that is open and ready to deliver.
package protocol MediaSource: AnyObject, Sendable {
    /// The properties of the source that were found when it was opened.
    var description: SourceDescription { get }
    /// Begins to deliver into `sink`, on a thread of its own, in the formats `video` and `audio`; nil means that the
    /// track is not wanted. Only the first call has an effect.
    func start(into sink: any SourceSink, video: VideoFormat?, audio: AudioFormat?)
    /// Ends delivery and all blocking reads. Returns at once; may be called on any thread, any number of times. A
    /// delivery that has begun can still reach the sink.
    func stop()
    /// The current status of the source. May be read on any thread.
    var status: SourceStatus { get }
}

/// Distinguishes the first caller from all later callers.
final class StartOnce: Sendable {
    private let started = Atomic<Bool>(false)

    /// Returns true for the first caller only.
    func begin() -> Bool { !started.exchange(true, ordering: .acquiringAndReleasing) }
}
