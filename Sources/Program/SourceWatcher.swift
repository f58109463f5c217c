// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// Receives the video and audio of one source for each frame of the program, whether the source is on air or not.
///
/// It is called only on the program's thread and must return at once.
package protocol SourceWatcher: AnyObject, Sendable {
    /// Receives the source's frame for program frame `index`, nil if it has none, and its audio without a shift. The
    /// audio continues where the audio of the previous call ended, even if program frames were skipped.
    func take(_ frame: VideoFrame?, _ audio: AudioBuffer, at index: FrameIndex)
    /// Called before ``take(_:_:at:)``; it may take packets from `feed`. `feed` is the feed that the source shows, or
    /// nil if it shows no feed.
    func take(packetsOf feed: SourceFeed?, at index: FrameIndex)
}

extension SourceWatcher {
    package func take(packetsOf feed: SourceFeed?, at index: FrameIndex) {}
}

/// A watcher, its source, and the frame from which on it is called.
struct SourceWatch {
    let source: Bus
    let watcher: any SourceWatcher
    let first: FrameIndex
}

extension Bus {
    /// Calls each of `watchers` with its source's content from program frame `first` on. In a running program, `first`
    /// must be some frames ahead, so that all watchers begin with the same frame.
    package func watch(_ watchers: [(source: Bus, watcher: any SourceWatcher)], from first: FrameIndex) {
        let added = watchers.map { SourceWatch(source: $0.source, watcher: $0.watcher, first: first) }
        watches.withLock { $0 += added }
    }

    /// Stops calling these watchers. A call that has already begun may still complete.
    package func unwatch(_ watchers: [any SourceWatcher]) {
        watches.withLock { $0.removeAll { watch in watchers.contains { $0 === watch.watcher } } }
    }

    /// Passes the content of the sources for frame `index` to the watchers. The audio of that frame has the samples of
    /// `range`.
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
