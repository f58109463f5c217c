// SPDX-License-Identifier: Apache-2.0

extension Scene {
    /// The scene that is `fraction` of the way to `next`: who is in both moves, who is in one alone grows or shrinks. What
    /// fills the frame in `next` alone is there at once, behind the others.
    func moved(to next: Scene, fraction: Double) -> Scene {
        var layers = next.layers.map { layer in
            let before = self.layers.first { $0.video == layer.video }?.placement
            let origin = before ?? (layer.placement == .full ? layer.placement : layer.placement.vanished)
            return Layer(layer.video, at: origin.interpolated(to: layer.placement, fraction: fraction))
        }
        for layer in self.layers where !next.layers.contains(where: { $0.video == layer.video }) {
            let placement = layer.placement.interpolated(to: layer.placement.vanished, fraction: fraction)
            layers.append(Layer(layer.video, at: placement))
        }
        return Scene(layers: layers, audio: next.audio)
    }
}

extension Placement {
    /// The same without any extent, in its own middle: where a source comes from, and where it goes.
    fileprivate var vanished: Placement {
        var vanished = self
        vanished.destination = Rectangle(
            x: destination.x + destination.width / 2, y: destination.y + destination.height / 2, width: 0, height: 0)
        return vanished
    }
}
