// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// Receives what one source shows and plays, for each frame of the program, whether it is on air or not.
///
/// It is called only on the program's thread and must return at once.
package protocol SourceWatcher: AnyObject, Sendable {
    /// Takes the source's frame for program frame `index`, nil if it has none, and its unshifted audio. The audio
    /// continues where the previous call's ended, even if program frames were skipped.
    func take(_ frame: VideoFrame?, _ audio: AudioBuffer, at index: FrameIndex)
    /// Is called before that and may take packets from `feed`, which the source shows; nil while it shows no feed.
    func take(packetsOf feed: SourceFeed?, at index: FrameIndex)
}

extension SourceWatcher {
    package func take(packetsOf feed: SourceFeed?, at index: FrameIndex) {}
}

/// A watcher, its source, and the frame from which it watches.
struct SourceWatch {
    let source: Bus
    let watcher: any SourceWatcher
    let first: FrameIndex
}

extension Bus {
    /// Lets each of `watchers` receive its source's content from program frame `first` on. In a running program `first`
    /// must be some frames ahead, so that all of them start with the same frame.
    package func watch(_ watchers: [(source: Bus, watcher: any SourceWatcher)], from first: FrameIndex) {
        let added = watchers.map { SourceWatch(source: $0.source, watcher: $0.watcher, first: first) }
        watches.withLock { $0 += added }
    }

    /// Stops calling these watchers. A call that is already running may still arrive.
    package func unwatch(_ watchers: [any SourceWatcher]) {
        watches.withLock { $0.removeAll { watch in watchers.contains { $0 === watch.watcher } } }
    }

    /// Gives the watchers their sources' content for frame `index`, whose audio has the samples of `range`.
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
