// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// Receives the video and audio of one source for each program frame, whether the source is on air or not.
///
/// The methods are called only on the program's thread and must return at once.
package protocol SourceWatcher: AnyObject, Sendable {
    /// Receives the source's frame for program frame `index`, or nil if the source has none, and its audio without the
    /// operator's shift. The audio directly follows the audio of the previous call, even if program frames were
    /// skipped.
    func take(_ frame: VideoFrame?, _ audio: AudioBuffer, at index: FrameIndex)
    /// Gives the watcher a chance to take packets from `feed`. `feed` is the feed that the source shows now; nil if it
    /// shows none. Called before ``take(_:_:at:)``.
    func take(packetsOf feed: SourceFeed?, at index: FrameIndex)
}

extension SourceWatcher {
    package func take(packetsOf feed: SourceFeed?, at index: FrameIndex) {}
}

/// A watcher, the source that it watches, and the first program frame for which it is called.
struct SourceWatch {
    let source: Bus
    let watcher: any SourceWatcher
    let first: FrameIndex
}

extension Bus {
    /// Calls each of `watchers` with the content of its source, from program frame `first` on. In a running program,
    /// `first` must be several frames in the future, so that all watchers begin with the same frame.
    package func watch(_ watchers: [(source: Bus, watcher: any SourceWatcher)], from first: FrameIndex) {
        let added = watchers.map { SourceWatch(source: $0.source, watcher: $0.watcher, first: first) }
        watches.withLock { $0 += added }
    }

    /// Stops calling these watchers. A call that is running on the program's thread may still complete.
    package func unwatch(_ watchers: [any SourceWatcher]) {
        watches.withLock { $0.removeAll { watch in watchers.contains { $0 === watch.watcher } } }
    }

    /// Passes to the watchers what their sources show and play in frame `index`. `range` contains the samples of this
    /// frame.
    func tellWatchers(_ index: FrameIndex, _ range: Range<SampleIndex>, _ air: MixEffect) {
        for watch in watches.withLock({ $0 }) where watch.first <= index {
            let silence = {
                AudioBuffer.silence(
                    at: range.lowerBound.number, count: Int(range.upperBound - range.lowerBound), format: .program)
            }
            watch.watcher.take(packetsOf: watch.source.scene?.mainFeed, at: index)
            watch.watcher.take(watch.source.shown, air.audio(of: watch.source) ?? silence(), at: index)
        }
    }
}
