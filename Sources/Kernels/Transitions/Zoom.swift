// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension TransitionRenderer {
    /// The factor by which `a` is enlarged at progress 1.
    private static let enlargement = 4.0
    /// The progress at which `b` begins to fade in.
    private static let fadeStart = 0.25

    /// `a` grows from its center at a constant rate of enlargement, and fades to `b`.
    func zoom(_ a: SourcePlanes, _ b: SourcePlanes, _ progress: Double, _ target: TargetPlanes) {
        let scale = pow(Self.enlargement, progress)
        let weight = Self.weight((progress - Self.fadeStart) / (1 - Self.fadeStart))
        prepare(lumaX, width, scale)
        prepare(lumaY, height, scale)
        prepare(chromaX, width / 2, scale)
        prepare(chromaY, height / 2, scale)
        enlarge(a.y, b.y, weight, lumaX, lumaY, into: target.y)
        enlarge(a.u, b.u, weight, chromaX, chromaY, into: target.u)
        enlarge(a.v, b.v, weight, chromaX, chromaY, into: target.v)
    }

    /// Prepares the table for the middle of `count` samples, enlarged by `scale`.
    private func prepare(_ table: AxisTable, _ count: Int, _ scale: Double) {
        let length = Double(count) / scale
        table.prepare(
            .init(
                count: count, start: (Double(count) - length) / 2, length: length, target: count, first: 0,
                visible: count, isLinear: true))
    }

    /// Enlarges `a` and mixes it with `b`. `weight` is the weight of `b`, in parts of 256. Each row of `a` is enlarged
    /// horizontally only once; then neighboring rows are mixed.
    private func enlarge(
        _ a: SourcePlane, _ b: SourcePlane, _ weight: UInt16, _ tableX: AxisTable, _ tableY: AxisTable,
        into target: TargetPlane
    ) {
        let base = rows.reserve(2 * target.width)
        var (upper, lower) = (base, base + target.width)
        // The indices of the source rows that `upper` and `lower` contain; -1 if they contain none.
        var (above, below) = (-1, -1)
        for y in 0..<target.height {
            let (row, part) = tableY.pair(y)
            let next = min(row + 1, a.height - 1)
            if row == below {
                swap(&upper, &lower)
                swap(&above, &below)
            }
            if row != above { tableX.scale(a.row(row), into: upper) }
            if next != below { tableX.scale(a.row(next), into: lower) }
            (above, below) = (row, next)
            Self.mix(upper, lower, part, b.row(y), weight, target.width, into: target.row(y))
        }
    }

    private static func mix(
        _ upper: UnsafePointer<UInt8>, _ lower: UnsafePointer<UInt8>, _ part: UInt16, _ b: UnsafePointer<UInt8>,
        _ weight: UInt16, _ count: Int, into target: UnsafeMutablePointer<UInt8>
    ) {
        guard weight > 0 else { return TargetPlane.mix(upper, lower, weight: part, count: count, into: target) }
        let (rest, remaining) = (256 &- part, 256 &- weight)
        for x in 0..<count {
            let a = (UInt16(upper[x]) &* rest &+ UInt16(lower[x]) &* part &+ 128) &>> 8
            let sum = a &* remaining &+ UInt16(b[x]) &* weight &+ 128
            target[x] = UInt8(truncatingIfNeeded: sum &>> 8)
        }
    }
}
