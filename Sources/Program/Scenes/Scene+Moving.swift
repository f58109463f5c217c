// SPDX-License-Identifier: Apache-2.0

internal import Kernels
internal import Media

/// What is seen on the way from one scene to another: a scene, or the mean of two that differ in who is in front.
struct SceneMix {
    /// The scenes, and in which parts of 1 each is seen.
    let shares: [(scene: Scene, weight: Double)]

    /// `scene` alone.
    init(_ scene: Scene) { shares = [(scene, 1)] }

    private init(_ shares: [(scene: Scene, weight: Double)]) { self.shares = shares }

    /// Where two change places, and nothing else is: the scene that is seen most, and in which part of 1 its last two
    /// layers are seen in the other order.
    var exchange: (scene: Scene, share: Double)? {
        guard shares.count == 2 else { return nil }
        let (most, least) = shares[0].weight < shares[1].weight ? (shares[1], shares[0]) : (shares[0], shares[1])
        let (layers, others) = (most.scene.layers, least.scene.layers)
        guard layers.dropLast(2) == others.dropLast(2), layers.suffix(2).elementsEqual(others.suffix(2).reversed())
        else { return nil }
        return (most.scene, least.weight)
    }

    /// What is `fraction` of the way to `next`, where the frames of `shaped` have bars. Nil where more than two scenes would
    /// be needed.
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

/// How layers go from one scene to another. Who is in both moves, who is in one alone grows or shrinks; but what fills the
/// frame in one of them alone stands behind the others.
///
/// Nothing is seen to jump: at its beginning the way shows the one scene, at its end the other, and in between each layer
/// keeps its depth. Where no order of the layers shows both, as where two change places, there are two, and the one gives
/// way to the other.
private struct Path {
    private let from: Scene
    private let to: Scene
    /// What does not fill its place, unless it is cut to it.
    private let shaped: [Scene.Video]

    init(from: Scene, to: Scene, shaped: [Scene.Video]) { (self.from, self.to, self.shaped) = (from, to, shaped) }

    /// The orders in which layers lie at `fraction` of the way, and in which parts each is seen.
    func orders(at fraction: Double) -> [(order: [Scene.Video], weight: Double)] {
        let (old, new) = (Self.merged(from.layers, to.layers), Self.merged(to.layers, from.layers))
        for order in [old, new] where shows(from, in: order, beside: to) && shows(to, in: order, beside: from) {
            return [(order, 1)]
        }
        return [
            (seen(of: old, from, beside: to), 1 - fraction), (seen(of: new, to, beside: from), fraction),
        ]
    }

    /// The layers in this order, `fraction` of the way, without those that are hidden.
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

    /// The layers of `lead` as they lie there, and those of `other` alone each over the same one as there.
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

    /// Whether layers in this order, all where they are in `scene`, show that scene, though what fills the frame in `other`
    /// alone is there, too.
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

    /// `order` without what fills the frame in `other` alone and is not hidden by layers as they are in `scene`.
    private func seen(of order: [Scene.Video], _ scene: Scene, beside other: Scene) -> [Scene.Video] {
        order.enumerated().filter { index, video in
            guard scene.placement(of: video) == nil, other.placement(of: video) == .full else { return true }
            return Placement.fill(order[(index + 1)...].compactMap { covering($0, in: scene) })
        }.map(\.element)
    }

    /// The placement of `video` in `scene` if it fills that place.
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
    /// How finely places are told apart: far below a pixel.
    private static let unit = 36_000.0

    /// The destination in such units, so that what meets does not overlap.
    private var place: PixelRectangle {
        let (left, top) = (Int((destination.x * Self.unit).rounded()), Int((destination.y * Self.unit).rounded()))
        let right = Int(((destination.x + destination.width) * Self.unit).rounded())
        let bottom = Int(((destination.y + destination.height) * Self.unit).rounded())
        return PixelRectangle(x: left, y: top, width: right - left, height: bottom - top)
    }

    fileprivate func overlaps(_ other: Placement) -> Bool { !place.intersection(other.place).isEmpty }

    /// Whether these together leave nothing of the frame.
    fileprivate static func fill(_ placements: [Placement]) -> Bool {
        var rest = Uncovered()
        rest.begin(full.place)
        for placement in placements where placement.cornerRadius == 0 { rest.cover(placement.place) }
        return rest.parts.isEmpty
    }

    /// The same without any extent, in its own middle: where a source comes from, and where it goes.
    fileprivate var vanished: Placement {
        let middle = Rectangle(
            x: destination.x + destination.width / 2, y: destination.y + destination.height / 2, width: 0, height: 0)
        var shape = shape
        shape?.area = middle
        return Placement(source: source, destination: middle, shape: shape)
    }
}
