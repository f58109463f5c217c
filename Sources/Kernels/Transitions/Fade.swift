// SPDX-License-Identifier: Apache-2.0

extension TargetPlane {
    /// Mixes `a` and `b`. `weight` is the weight of `b`, in parts of 256.
    func fade(_ a: SourcePlane, _ b: SourcePlane, weight: UInt16) {
        for y in 0..<height { Self.mix(a.row(y), b.row(y), weight: weight, count: width, into: row(y)) }
    }

    /// Mixes `a` with `value`. `weight` is the weight of `value`, in parts of 256.
    func fade(_ a: SourcePlane, to value: UInt8, weight: UInt16) {
        for y in 0..<height { Self.mix(a.row(y), with: value, weight: weight, count: width, into: row(y)) }
    }
}

extension TransitionRenderer {
    /// Fades `a` to `color` in the first half, and `color` to `b` in the second.
    func dip(_ a: SourcePlanes, _ b: SourcePlanes, _ progress: Double, _ color: PixelColor, _ target: TargetPlanes) {
        let weight = Self.weight(1 - abs(1 - 2 * progress))
        let shown = progress < 0.5 ? a : b
        target.y.fade(shown.y, to: color.y, weight: weight)
        target.u.fade(shown.u, to: color.u, weight: weight)
        target.v.fade(shown.v, to: color.v, weight: weight)
    }
}
