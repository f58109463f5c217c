// SPDX-License-Identifier: Apache-2.0

internal import Ingest
package import Logging
package import Media
package import Program
internal import Synchronization

/// What a program shows when no input has anything: a still, or a file that is played again and again while it is on air.
///
/// All calls may come from any thread.
package final class Slate: Sendable {
    /// The feed of a file that is played.
    private final class Player: Sendable {
        let feed = Mutex<SourceFeed?>(nil)
        let bus: Bus

        init(bus: Bus) { self.bus = bus }

        /// Lets `next` play instead of what played; nil for nothing.
        func put(_ next: SourceFeed?) {
            let old = feed.withLock { feed in
                defer { feed = next }
                return feed
            }
            if let old { bus.remove(old) }
            if let next { bus.add(next) }
        }
    }

    /// What is seen while nothing plays.
    let still: VideoFrame
    private let player: Player
    private let source: StandbySource?

    /// The slate that `slate` names, in `format`. A file is read, which blocks. Throws ``ChannelFailure`` if it cannot be.
    package init(
        _ slate: SlateSpecification, channel: String, format: VideoFormat, bus: Bus,
        clock: any MonotonicClock, logger: Logger
    ) throws(ChannelFailure) {
        let player = Player(bus: bus)
        self.player = player
        guard case .file(let path) = slate else {
            still = SlatePattern.frame(format, lines: ["NO SIGNAL", channel])
            source = nil
            return
        }
        let location = InputLocation("file:" + path)
        let isVideo: Bool
        do throws(IngestError) {
            (still, isVideo) = try StillFrame.load(location, format: format, logger: logger)
        } catch {
            throw ChannelFailure(.inputUnreadable, "--slate cannot be shown. \(error)")
        }
        guard isVideo else {
            source = nil
            return
        }
        source = StandbySource(name: "slate", logger: logger) { opening, _ in
            let source = try SourceOpener.open(
                location, options: IngestOptions(loop: true), logger: logger, opening: opening)
            // It has no packets, and is no reason not to copy those of the source that it stands for.
            let feed = SourceFeed(
                pacing: .paced, frameRate: format.frameRate, audio: .program, keepsPackets: .zero, clock: clock)
            player.put(feed)
            source.start(into: feed, video: format, audio: .program)
            return StandbySource.Running(source)
        }
    }

    /// Whether it is a file that is played.
    var plays: Bool { source != nil }

    /// What is seen: the file once it plays, and its first frame before.
    package func video(at now: Timestamp) -> Scene.Video {
        let feed = player.feed.withLock { $0 }
        guard let feed, feed.newestVideo(at: now) != nil else { return .still(still) }
        return .feed(feed)
    }

    /// Begins to play, if there is anything to play. Returns at once.
    package func start() { source?.start() }

    /// Ends playing. Returns at once.
    package func stop() {
        source?.stop()
        player.put(nil)
    }
}
