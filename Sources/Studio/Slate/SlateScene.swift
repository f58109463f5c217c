// SPDX-License-Identifier: Apache-2.0

package import Media
package import Program
internal import Synchronization

/// The slate as a scene of a program of several sources: a still image, or a file that is repeated while it is wanted.
///
/// All calls can be made on any thread and return at once.
package final class SlateScene: Sendable {
    /// The video of the scene.
    let video: Scene.Video
    private let played: (slate: Slate, bus: Bus)?
    private let isPlaying = Mutex(false)

    /// Creates a slate scene with a still image.
    package init(_ still: VideoFrame) { (video, played) = (.still(still), nil) }

    /// Creates a slate scene that plays on `bus` for the program `program`. No other code is allowed to use `bus`.
    package init(_ slate: Slate, on bus: Bus, in program: Bus) {
        guard slate.plays else {
            (video, played) = (.still(slate.still), nil)
            return
        }
        bus.show(Scene(video: slate.video(at: .distantPast), audio: nil))
        program.add(bus)
        video = .source(bus)
        played = (slate, bus)
    }

    /// Starts or stops playing, and updates the scene, because a file begins to play only some time after it was
    /// started.
    func refresh(isWanted: @autoclosure () -> Bool, at now: MonotonicInstant) {
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

    /// Stops playing.
    package func stop() { played?.slate.stop() }
}
