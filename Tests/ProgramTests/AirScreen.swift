// SPDX-License-Identifier: Apache-2.0

import FrameSamples
import Media

@testable import Kernels
@testable import Program

/// Puts scenes of stills on air, frame by frame, without a clock.
struct AirScreen {
    /// A change of scene.
    struct Change {
        var frame: Int64
        var scene: Scene
        var transition: Transition
        var frames: Int64
        var stinger: (any Stinger)?
    }

    let format: VideoFormat
    private final class Weak {
        weak var storage: (any FrameStorage)?
        init(_ storage: any FrameStorage) { self.storage = storage }
    }

    /// A screen of this size.
    init(width: Int, height: Int) {
        format = VideoFormat(width: width, height: height, frameRate: FrameRate(30))
    }

    /// Returns the first `count` frames, which begin with `scene`, and how many of them are still referenced after they
    /// have left the air.
    func play(
        _ scene: Scene, _ changes: [Change], count: Int64, overlays: [Overlay] = []
    ) -> (frames: [PlainFrame], held: Int) {
        var air = MixEffect(
            scene, audio: .program, frameSamples: 1600, compositor: Compositor(format), holdsLast: true,
            overlays: overlays)
        var (frames, storages): ([PlainFrame], [Weak]) = ([], [])
        for number in 0..<count {
            let index = FrameIndex(number)
            if let change = changes.first(where: { $0.frame == number }) {
                air.begin(
                    Bus.Cue(
                        scene: change.scene, transition: change.transition, frames: change.frames, frame: index,
                        stinger: change.stinger), at: index)
            }
            guard let frame = air.frame(for: index, note: { _, _ in }) else { continue }
            frames.append(PlainFrame(frame))
            storages.append(Weak(frame.storage))
        }
        return (frames, storages.count { $0.storage is PooledFrame })
    }
}

extension Scene {
    /// Returns a scene of stills in the layout `layout`.
    static func stills(_ layout: SceneLayout.Kind, _ frames: [VideoFrame], inset: SceneLayout.Inset? = nil) -> Scene {
        let layout = SceneLayout(layout, frames.indices.map { "\($0)" }, inset: inset)
        let layers = zip(frames, layout.placements(in: .bt709)).map { Layer(.still($0), at: $1) }
        return Scene(layers: layers, audio: [])
    }
}
