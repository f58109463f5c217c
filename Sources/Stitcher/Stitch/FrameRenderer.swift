// SPDX-License-Identifier: Apache-2.0

internal import Kernels
internal import LibAV
internal import Media

/// Produces the frames of clips that are re-encoded: decodes them and, during a transition, composes the frames of both
/// clips. Frames must be requested in the result's order. Used by one thread.
final class FrameRenderer {
    private let plan: StitchPlan
    private let clips: [StitchClip]
    private let sources: [StitchSource]
    private let fitting: FrameFitting
    private var readers: [Int: FrameReader] = [:]
    /// The damaged frames that were found so far.
    let damage = DamageLog()
    private var drawing: (renderer: TransitionRenderer, pool: FramePool)?

    init(_ plan: StitchPlan, _ clips: [StitchClip], _ sources: [StitchSource], _ fitting: FrameFitting) {
        (self.plan, self.clips, self.sources, self.fitting) = (plan, clips, sources, fitting)
    }

    /// The frame `index` of the clip `clip`, counted from 0.
    func frame(_ index: Int, of clip: Int) throws -> VideoFrame {
        let planned = plan.clips[clip]
        readers = readers.filter { $0.key >= clip - 1 }
        let own = try decoded(index, of: clip)
        guard index < planned.transition, clip > 0, let chosen = clips[clip].transition else { return own }
        let transition = chosen.drawn(in: plan.video.color)
        let before = try decoded(plan.clips[clip - 1].count + index, of: clip - 1)
        let (width, height) = (plan.video.width, plan.video.height)
        let (renderer, pool) =
            drawing
            ?? (TransitionRenderer(width: width, height: height), FramePool(width: width, height: height))
        drawing = (renderer, pool)
        var canvas = pool.canvas()
        let time = Double(index + 1) / Double(planned.transition + 1)
        renderer.render(before, own, transition, progress: transition.easing.progress(at: time), into: &canvas)
        return canvas.finish(pts: own.pts, timeBase: own.timeBase)
    }

    private func decoded(_ index: Int, of clip: Int) throws -> VideoFrame {
        let source = sources[plan.clips[clip].source]
        let reader = try readers[clip] ?? FrameReader(source, target: plan.video, fitting: fitting, damage: damage)
        readers[clip] = reader
        return try reader.frame(plan.number(of: index, in: plan.clips[clip], source))
    }
}
