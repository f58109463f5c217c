// SPDX-License-Identifier: Apache-2.0

internal import Kernels
internal import Media

/// The visible content between two scenes: one scene, or the weighted mean of two scenes that differ in the order of
/// their layers.
struct SceneMix {
    /// The scenes with their weights, which add up to 1.
    let shares: [(scene: Scene, weight: Double)]

    /// A mix of `scene` alone.
    init(_ scene: Scene) { shares = [(scene, 1)] }

    private init(_ shares: [(scene: Scene, weight: Double)]) { self.shares = shares }

    /// If two layers exchange their depth and nothing else differs: the scene with the larger weight, and the weight of
    /// the opposite order of its last two layers. Otherwise nil.
    var exchange: (scene: Scene, share: Double)? {
        guard shares.count == 2 else { return nil }
        let (most, least) = shares[0].weight < shares[1].weight ? (shares[1], shares[0]) : (shares[0], shares[1])
        let (layers, others) = (most.scene.layers, least.scene.layers)
        guard layers.dropLast(2) == others.dropLast(2), layers.suffix(2).elementsEqual(others.suffix(2).reversed())
        else { return nil }
        return (most.scene, least.weight)
    }

    /// Returns the mix at `fraction` of the way to `next`. The frames of `shaped` contain bars. Nil if a mix of more
    /// than two scenes would be needed.
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

/// Moves layers from one scene to another. A layer in both scenes moves. A layer in only one scene grows or shrinks;
/// but if it fills the frame in that scene, it stays behind the other layers.
///
/// No layer jumps: the path begins with one scene and ends with the other, and in between each layer keeps its depth.
/// If no single order of the layers shows both scenes, as when two layers exchange their depth, there are two orders,
/// and one fades into the other.
private struct Path {
    private let from: Scene
    private let to: Scene
    /// The videos that fill their placement only if they are cropped to it.
    private let shaped: [Scene.Video]

    init(from: Scene, to: Scene, shaped: [Scene.Video]) { (self.from, self.to, self.shaped) = (from, to, shaped) }

    /// Returns the orders of the layers at `fraction` of the way, with their weights.
    func orders(at fraction: Double) -> [(order: [Scene.Video], weight: Double)] {
        let (old, new) = (Self.merged(from.layers, to.layers), Self.merged(to.layers, from.layers))
        for order in [old, new] where shows(from, in: order, beside: to) && shows(to, in: order, beside: from) {
            return [(order, 1)]
        }
        return [
            (seen(of: old, from, beside: to), 1 - fraction), (seen(of: new, to, beside: from), fraction),
        ]
    }

    /// Returns the layers in this order, at `fraction` of the way, without hidden layers.
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

    /// Returns the layers of `lead` in their order, together with the layers that only `other` has: each of these is
    /// inserted above the same neighbor as in `other`.
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

    /// Whether the layers, in this order and with the placements of `scene`, show that scene, although the order also
    /// contains layers that fill the frame only in `other`.
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

    /// Returns `order` without certain layers: those that fill the frame only in `other` and are not hidden by the
    /// layers of `scene`.
    private func seen(of order: [Scene.Video], _ scene: Scene, beside other: Scene) -> [Scene.Video] {
        order.enumerated().filter { index, video in
            guard scene.placement(of: video) == nil, other.placement(of: video) == .full else { return true }
            return Placement.fill(order[(index + 1)...].compactMap { covering($0, in: scene) })
        }.map(\.element)
    }

    /// Returns the placement of `video` in `scene` if the video fills it.
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
    /// The resolution at which placements are compared: much finer than a pixel.
    private static let unit = 36_000.0

    /// The destination in units of this resolution, rounded so that adjacent placements do not overlap.
    private var place: PixelRectangle {
        let (left, top) = (Int((destination.x * Self.unit).rounded()), Int((destination.y * Self.unit).rounded()))
        let right = Int(((destination.x + destination.width) * Self.unit).rounded())
        let bottom = Int(((destination.y + destination.height) * Self.unit).rounded())
        return PixelRectangle(x: left, y: top, width: right - left, height: bottom - top)
    }

    fileprivate func overlaps(_ other: Placement) -> Bool { !place.intersection(other.place).isEmpty }

    /// Whether these placements together cover the whole frame.
    fileprivate static func fill(_ placements: [Placement]) -> Bool {
        var rest = Uncovered()
        rest.begin(full.place)
        for placement in placements where placement.cornerRadius == 0 { rest.cover(placement.place) }
        return rest.parts.isEmpty
    }

    /// The same placement shrunk to its own center, from which a source appears and to which it disappears.
    fileprivate var vanished: Placement {
        let middle = Rectangle(
            x: destination.x + destination.width / 2, y: destination.y + destination.height / 2, width: 0, height: 0)
        var shape = shape
        shape?.area = middle
        return Placement(source: source, destination: middle, shape: shape)
    }
}
