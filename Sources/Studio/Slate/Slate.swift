// SPDX-License-Identifier: Apache-2.0

internal import Ingest
package import Logging
package import Media
package import Program
internal import Synchronization

/// The video that a program shows when no input delivers anything: a still image, or a file that is repeated while it
/// is on air.
///
/// All calls can be made on any thread.
package final class Slate: Sendable {
    /// Holds the feed of the file that is being played.
    private final class Player: Sendable {
        let feed = Mutex<SourceFeed?>(nil)
        let bus: Bus

        init(bus: Bus) { self.bus = bus }

        /// Replaces the feed that is playing by `next`; nil means that no file is playing.
        func put(_ next: SourceFeed?) {
            let old = feed.withLock { feed in
                defer { feed = next }
                return feed
            }
            if let old { bus.remove(old) }
            if let next { bus.add(next) }
        }
    }

    /// The frame that is shown while no file is playing.
    let still: VideoFrame
    private let player: Player
    private let source: StandbySource?

    /// Creates the slate that `slate` specifies, in `format`. If it is a file, the file is read, which blocks. Throws
    /// ``ChannelFailure`` if that fails.
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
            throw ChannelFailure(
                .inputUnreadable, .showSlate, saying: "--slate cannot be shown. \(error)", error: error)
        }
        guard isVideo else {
            source = nil
            return
        }
        source = StandbySource(name: "slate", logger: logger) { opening, _ in
            let source = try SourceOpener.open(
                location, options: IngestOptions(loop: true), logger: logger, opening: opening)
            // The slate has no packets. Its feed has a packet buffer nevertheless, so that the slate does not prevent
            // the packets of the source that it replaces from being copied.
            let feed = SourceFeed(
                pacing: .paced, frameRate: format.frameRate, audio: .program, keepsPackets: .zero, clock: clock)
            player.put(feed)
            source.start(into: feed, video: format, audio: .program)
            return StandbySource.Running(source)
        }
    }

    /// Whether the slate is a video file.
    var plays: Bool { source != nil }

    /// The video to show now: the playing file, or the still image until the file has delivered a frame.
    package func video(at now: MonotonicInstant) -> Scene.Video {
        let feed = player.feed.withLock { $0 }
        guard let feed, feed.newestVideo(at: now) != nil else { return .still(still) }
        return .feed(feed)
    }

    /// Begins to play, if the slate is a video file. Returns at once.
    package func start() { source?.start() }

    /// Stops playing. Returns at once.
    package func stop() {
        source?.stop()
        player.put(nil)
    }
}
