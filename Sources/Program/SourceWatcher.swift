// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Synchronization

/// Takes what one source shows and plays, frame by frame of the program, whether it is on air or not.
///
/// Called by the program's thread alone, which it must not hold up: it returns at once.
package protocol SourceWatcher: AnyObject, Sendable {
    /// Takes what the source has for frame `index`: its frame, nil if it has no frame, and its audio as it came. The
    /// audio continues where the audio of the previous call ended, even if frames of the program were skipped.
    func take(_ frame: VideoFrame?, _ audio: AudioBuffer, at index: FrameIndex)
    /// Called before that: may take packets of `feed`, the feed that the source shows; nil while it shows no feed.
    func take(packetsOf feed: SourceFeed?, at index: FrameIndex)
}

extension SourceWatcher {
    package func take(packetsOf feed: SourceFeed?, at index: FrameIndex) {}
}

/// Which watcher takes which of a bus's sources, and from which frame on.
struct SourceWatch {
    let source: Bus
    let watcher: any SourceWatcher
    let first: FrameIndex
}

extension Bus {
    /// Lets each of `watchers` take what its source has, from frame `first` of the program on, which is to be some frames
    /// ahead of a program that runs: then it is the same frame for all of them.
    package func watch(_ watchers: [(source: Bus, watcher: any SourceWatcher)], from first: FrameIndex) {
        let added = watchers.map { SourceWatch(source: $0.source, watcher: $0.watcher, first: first) }
        watches.withLock { $0 += added }
    }

    /// Ends the calls of these watchers. A call that is under way may still come.
    package func unwatch(_ watchers: [any SourceWatcher]) {
        watches.withLock { $0.removeAll { watch in watchers.contains { $0 === watch.watcher } } }
    }

    /// Gives the watchers what the sources have for frame `index`, whose audio is that of `range`.
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
