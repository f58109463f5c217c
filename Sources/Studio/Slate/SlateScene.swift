// SPDX-License-Identifier: Apache-2.0

package import Media
package import Program
internal import Synchronization

/// The slate as a scene of a program of several sources: a still, or a file that is played again and again while it is
/// wanted.
///
/// All calls may come from any thread and return at once.
package final class SlateScene: Sendable {
    /// What the scene shows.
    let video: Scene.Video
    private let played: (slate: Slate, bus: Bus)?
    private let isPlaying = Mutex(false)

    /// A still.
    package init(_ still: VideoFrame) { (video, played) = (.still(still), nil) }

    /// A slate that plays on `bus`, which is for nothing else, in `program`.
    package init(_ slate: Slate, on bus: Bus, in program: Bus) {
        guard slate.plays else {
            (video, played) = (.still(slate.still), nil)
            return
        }
        bus.show(Scene(video: slate.video(at: Timestamp(nanoseconds: 0)), audio: nil))
        program.add(bus)
        video = .source(bus)
        played = (slate, bus)
    }

    /// Plays, or stops, and brings what is seen up to date: a file begins to play by and by.
    func refresh(isWanted: @autoclosure () -> Bool, at now: Timestamp) {
        guard let (slate, bus) = played else { return }
        let isWanted = isWanted()
        let wasPlaying = isPlaying.withLock { isPlaying in
            defer { isPlaying = isWanted }
            return isPlaying
        }
        if isWanted, !wasPlaying { slate.start() }
        if !isWanted, wasPlaying { slate.stop() }
        let scene = Scene(video: slate.video(at: now), audio: nil)
        if scene != bus.scene { bus.show(scene) }
    }

    /// Ends playing.
    package func stop() { played?.slate.stop() }
}
