// SPDX-License-Identifier: Apache-2.0

internal import Kernels
internal import Media

/// What is visible during a transition that moves layers: one scene, or a mix of two scenes that differ in the order of
/// their layers.
struct SceneMix {
    /// One or two scenes with their weights. The weights add up to 1.
    let shares: [(scene: Scene, weight: Double)]

    /// Creates a mix that consists of `scene` alone.
    init(_ scene: Scene) { shares = [(scene, 1)] }

    private init(_ shares: [(scene: Scene, weight: Double)]) { self.shares = shares }

    /// The scene with the larger weight, and the weight of the other scene, if the two scenes differ only in the order
    /// of their last two layers; otherwise nil.
    var exchange: (scene: Scene, share: Double)? {
        guard shares.count == 2 else { return nil }
        let (most, least) = shares[0].weight < shares[1].weight ? (shares[1], shares[0]) : (shares[0], shares[1])
        let (layers, others) = (most.scene.layers, least.scene.layers)
        guard layers.dropLast(2) == others.dropLast(2), layers.suffix(2).elementsEqual(others.suffix(2).reversed())
        else { return nil }
        return (most.scene, least.weight)
    }

    /// Returns the mix at `fraction` (0 to 1) of the way from this mix to `next`. `shaped` has the videos whose frames
    /// contain bars. Nil if a mix of more than two scenes would be needed.
    func moved(to next: Scene, fraction: Double, shaped: [Scene.Video] = []) -> SceneMix? {
        var found: [(scene: Scene, weight: Double)] = []
        for (scene, weight) in shares {
            let path = Path(from: scene, to: next, shaped: shaped)
            for (order, share) in path.orders(at: fraction) {
                let moved = path.scene(in: order, at: fraction)
                if let index = found.firstIndex(where: { $0.scene.layers == moved.layers }) {
                    found[index].weight += share * weight
                } else {
                    found.append((moved, share * weight))
                }
            }
        }
        return found.count <= 2 ? SceneMix(found) : nil
    }
}

/// Moves layers from one scene to another. A layer that is in both scenes moves to its new place. A layer that is in
/// only one scene grows or shrinks. But if it fills the frame in that scene, it keeps its size behind the other layers.
///
/// No layer jumps: the path begins exactly with one scene and ends exactly with the other, and in between the order of
/// the layers does not change. If no single order of the layers can show both scenes, for example when two layers
/// exchange their depth, there are two orders, and one of them fades into the other.
private struct Path {
    private let from: Scene
    private let to: Scene
    /// The videos whose frames contain bars, so that they may not cover their whole placement.
    private let shaped: [Scene.Video]

    init(from: Scene, to: Scene, shaped: [Scene.Video]) { (self.from, self.to, self.shaped) = (from, to, shaped) }

    /// Returns the order of the layers, from back to front, at `fraction` of the way from the first scene to the
    /// second: one order, or two orders with their weights.
    func orders(at fraction: Double) -> [(order: [Scene.Video], weight: Double)] {
        let (old, new) = (Self.merged(from.layers, to.layers), Self.merged(to.layers, from.layers))
        for order in [old, new] where shows(from, in: order, beside: to) && shows(to, in: order, beside: from) {
            return [(order, 1)]
        }
        return [
            (seen(of: old, from, beside: to), 1 - fraction), (seen(of: new, to, beside: from), fraction),
        ]
    }

    /// Returns the scene at `fraction` of the way from the first scene to the second, with its layers in the order
    /// `order`. Layers behind one that fills the frame are left out.
    func scene(in order: [Scene.Video], at fraction: Double) -> Scene {
        let layers = order.compactMap { video in
            placement(of: video, at: fraction).map { Scene.Layer(video, at: $0) }
        }
        let first = layers.lastIndex { $0.placement == .full } ?? 0
        return Scene(layers: Array(layers[first...]), audio: to.audio)
    }

    private func placement(of video: Scene.Video, at fraction: Double) -> Placement? {
        switch (from.placement(of: video), to.placement(of: video)) {
        case (let old?, let new?): old.interpolated(to: new, fraction: fraction)
        case (let old?, nil): old == .full ? old : old.interpolated(to: old.vanished, fraction: fraction)
        case (nil, let new?): new == .full ? new : new.vanished.interpolated(to: new, fraction: fraction)
        case (nil, nil): nil
        }
    }

    /// Returns the layers of `lead` in their order, and with them the layers that only `other` has. Each layer that
    /// only `other` has is inserted directly in front of the same layer as in `other`.
    private static func merged(_ lead: [Scene.Layer], _ other: [Scene.Layer]) -> [Scene.Video] {
        var order = lead.map(\.video)
        var place = 0
        for layer in other {
            if let index = order.firstIndex(of: layer.video) {
                place = index + 1
            } else {
                order.insert(layer.video, at: place)
                place += 1
            }
        }
        return order
    }

    /// Whether the layers in the order `order` look like `scene` if they have the placements of `scene`. `order` may
    /// also contain layers that fill the frame in `other`; these must be hidden completely.
    private func shows(_ scene: Scene, in order: [Scene.Video], beside other: Scene) -> Bool {
        for (index, layer) in scene.layers.enumerated() {
            for above in scene.layers[(index + 1)...] where layer.placement.overlaps(above.placement) {
                guard let low = order.firstIndex(of: layer.video), let high = order.firstIndex(of: above.video),
                    low < high
                else { return false }
            }
        }
        return seen(of: order, scene, beside: other).count == order.count
    }

    /// Returns `order` without the layers that fill the frame only in `other` and would be visible in `scene`, because
    /// the layers of `scene` do not hide them.
    private func seen(of order: [Scene.Video], _ scene: Scene, beside other: Scene) -> [Scene.Video] {
        order.enumerated().filter { index, video in
            guard scene.placement(of: video) == nil, other.placement(of: video) == .full else { return true }
            return Placement.fill(order[(index + 1)...].compactMap { covering($0, in: scene) })
        }.map(\.element)
    }

    /// Returns the placement of `video` in `scene`; nil if `scene` does not have it or the video does not fill its
    /// placement.
    private func covering(_ video: Scene.Video, in scene: Scene) -> Placement? {
        let placement = scene.placement(of: video)
        guard let shape = placement?.shape, shape.fill < 1 else { return placement }
        return shaped.contains(video) ? nil : placement
    }
}

extension Scene {
    fileprivate func placement(of video: Video) -> Placement? { layers.first { $0.video == video }?.placement }
}

extension Placement {
    /// The number of units per frame width or height in which placements are compared. A unit is much smaller than a
    /// pixel.
    private static let unit = 36_000.0

    /// This placement's destination, in the units that ``unit`` defines. Its edges are rounded, so that adjacent
    /// placements do not overlap.
    private var place: PixelRectangle {
        let (left, top) = (Int((destination.x * Self.unit).rounded()), Int((destination.y * Self.unit).rounded()))
        let right = Int(((destination.x + destination.width) * Self.unit).rounded())
        let bottom = Int(((destination.y + destination.height) * Self.unit).rounded())
        return PixelRectangle(x: left, y: top, width: right - left, height: bottom - top)
    }

    fileprivate func overlaps(_ other: Placement) -> Bool { !place.intersection(other.place).isEmpty }

    /// Whether `placements` together cover the whole frame.
    fileprivate static func fill(_ placements: [Placement]) -> Bool {
        var rest = Uncovered()
        rest.begin(full.place)
        for placement in placements where placement.cornerRadius == 0 { rest.cover(placement.place) }
        return rest.parts.isEmpty
    }

    /// This placement shrunk to its center. A layer that appears grows from there, and a layer that disappears shrinks
    /// to there.
    fileprivate var vanished: Placement {
        let middle = Rectangle(
            x: destination.x + destination.width / 2, y: destination.y + destination.height / 2, width: 0, height: 0)
        var shape = shape
        shape?.area = middle
        return Placement(source: source, destination: middle, shape: shape)
    }
}
