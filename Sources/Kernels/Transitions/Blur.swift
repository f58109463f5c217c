// SPDX-License-Identifier: Apache-2.0

/// Blurs a plane by halving it several times and enlarging the result.
///
/// Because enlarging interpolates, repeated halving and doubling looks like a smooth blur. The smaller planes take very
/// little time.
private struct Levels {
    /// The maximum number of halvings: at 1080 lines, a blur with a radius of about 16 pixels.
    static let deepest = 4

    private let base: UnsafeMutablePointer<UInt8>
    private let width: Int
    private let height: Int

    /// Reserves memory in `scratch` for the smaller versions of a plane of this size.
    init(_ scratch: Scratch<UInt8>, width: Int, height: Int) {
        (self.width, self.height) = (width, height)
        // The smaller planes need about a third of the plane's size. The rest is a reserve, because their sizes are
        // rounded up.
        base = scratch.reserve((width + 32) * (height + 32) / 2)
    }

    private static func size(_ whole: Int, _ level: Int) -> Int { (whole + (1 << level) - 1) >> level }

    /// The plane that is halved `level` times, at least once.
    func plane(_ level: Int) -> TargetPlane {
        var start = base
        for before in 1..<level { start += Self.size(width, before) * Self.size(height, before) }
        let columns = Self.size(width, level)
        return TargetPlane(bytes: start, stride: columns, width: columns, height: Self.size(height, level))
    }

    /// Halves `source` repeatedly, `deepest` times, and stores each of the smaller planes.
    func reduce(_ source: SourcePlane, to deepest: Int) {
        var larger = source
        for level in 1...deepest {
            let smaller = plane(level)
            smaller.halve(larger)
            larger = smaller.source
        }
    }
}

extension TargetPlane {
    /// Fills this plane with `source` at half size. If `source` has an odd number of columns or rows, the last one
    /// counts twice.
    fileprivate func halve(_ source: SourcePlane) {
        let whole = source.width / 2
        for y in 0..<height {
            let (upper, lower) = (source.row(2 * y), source.row(min(2 * y + 1, source.height - 1)))
            BoxReduction.halve(upper, lower - upper, count: whole, into: row(y))
            if whole < width { row(y)[whole] = UInt8((Int(upper[2 * whole]) + Int(lower[2 * whole]) + 1) / 2) }
        }
    }

    /// Fills this plane with `source` at double size. `sums` is temporary memory.
    fileprivate func double(_ source: SourcePlane, _ sums: Scratch<UInt16>) {
        for y in 0..<height { Self.double(source, y, sums, count: width, into: row(y)) }
    }

    /// Fills this plane with a mix of `source` at double size and `sharp`. `weight` is the weight of `source`, in parts
    /// of 256. `sharp` may be in the memory of this plane.
    fileprivate func double(
        _ source: SourcePlane, over sharp: SourcePlane, weight: UInt16, _ sums: Scratch<UInt16>, _ rows: Scratch<UInt8>
    ) {
        let line = rows.reserve(width)
        for y in 0..<height {
            Self.double(source, y, sums, count: width, into: line)
            row(y).update(from: sharp.row(y), count: width)
            Self.mix(line, weight: weight, count: width, into: row(y))
        }
    }

    /// Computes row `y` of `source` at double size.
    private static func double(
        _ source: SourcePlane, _ y: Int, _ sums: Scratch<UInt16>, count: Int, into target: UnsafeMutablePointer<UInt8>
    ) {
        let near = source.row(y / 2)
        let far = source.row(min(source.height - 1, max(0, y % 2 == 0 ? y / 2 - 1 : y / 2 + 1)))
        // The temporary row has one extra sample at each end, for the values beyond the edges.
        let line = sums.reserve(source.width + 2) + 1
        for x in 0..<source.width { line[x] = UInt16(near[x]) &* 3 &+ UInt16(far[x]) }
        (line[-1], line[source.width]) = (line[0], line[source.width - 1])
        let pairs = UnsafeMutableRawPointer(target)
        for x in 0..<count / 2 {
            let left = (line[x] &* 3 &+ line[x &- 1] &+ 8) &>> 4
            let right = (line[x] &* 3 &+ line[x &+ 1] &+ 8) &>> 4
            pairs.storeBytes(of: left | right &<< 8, toByteOffset: 2 &* x, as: UInt16.self)
        }
        guard count % 2 == 1 else { return }
        target[count - 1] = UInt8(truncatingIfNeeded: (line[count / 2] &* 3 &+ line[count / 2 - 1] &+ 8) &>> 4)
    }

    /// Mixes `count` samples at `target` with the samples at `other`. `weight` is the weight of `other`, in parts of
    /// 256.
    private static func mix(
        _ other: UnsafePointer<UInt8>, weight: UInt16, count: Int, into target: UnsafeMutablePointer<UInt8>
    ) {
        let rest = 256 &- weight
        for x in 0..<count {
            let sum = UInt16(target[x]) &* rest &+ UInt16(other[x]) &* weight &+ 128
            target[x] = UInt8(truncatingIfNeeded: sum &>> 8)
        }
    }
}

extension TransitionRenderer {
    /// The progress at which the frame is fully blurred and `a` begins to fade to `b`. The second half of the
    /// transition mirrors the first half.
    private static let softest = 0.35

    /// `a` is blurred more and more, fades to `b`, and `b` becomes sharp again.
    func blur(_ a: SourcePlanes, _ b: SourcePlanes, _ progress: Double, _ target: TargetPlanes) {
        let depth = Double(Levels.deepest) * min(1, (0.5 - abs(progress - 0.5)) / Self.softest)
        let weight = Self.weight((progress - Self.softest) / (1 - 2 * Self.softest))
        target.forEach(a, b) { plane, a, b in
            if depth < Double(Levels.deepest) {
                blur(progress < 0.5 ? a : b, depth: depth, into: plane)
            } else {
                blur(a, b, weight: weight, into: plane)
            }
        }
    }

    /// Blurs one plane by `depth` halvings. If `depth` is a fraction, the results of two numbers of halvings are mixed.
    private func blur(_ source: SourcePlane, depth: Double, into target: TargetPlane) {
        let levels = Levels(levels.0, width: source.width, height: source.height)
        let lower = Int(depth) + 1
        levels.reduce(source, to: lower)
        let weight = Self.weight(depth - Double(lower - 1))
        enlarge(levels, from: lower, source, weight: weight, into: target)
    }

    /// Mixes two fully blurred planes.
    private func blur(_ a: SourcePlane, _ b: SourcePlane, weight: UInt16, into target: TargetPlane) {
        let first = Levels(levels.0, width: a.width, height: a.height)
        let second = Levels(levels.1, width: b.width, height: b.height)
        if weight < 256 { first.reduce(a, to: Levels.deepest) }
        if weight > 0 { second.reduce(b, to: Levels.deepest) }
        let (from, to) = (first.plane(Levels.deepest), second.plane(Levels.deepest))
        switch weight {
        case 0: break
        case 256: from.copy(to.source)
        default: from.fade(from.source, to.source, weight: weight)
        }
        enlarge(first, from: Levels.deepest, a, weight: 256, into: target)
    }

    /// Enlarges the plane at `level` to the size of `target`, level by level. In the first step the enlarged plane is
    /// mixed with the plane of the next larger level. `weight` is the weight of the enlarged plane, in parts of 256.
    private func enlarge(
        _ levels: Levels, from level: Int, _ source: SourcePlane, weight: UInt16, into target: TargetPlane
    ) {
        for step in stride(from: level, through: 1, by: -1) {
            let larger = step == 1 ? target : levels.plane(step - 1)
            if step == level, weight < 256 {
                let sharp = step == 1 ? source : larger.source
                larger.double(levels.plane(step).source, over: sharp, weight: weight, sums, rows)
            } else {
                larger.double(levels.plane(step).source, sums)
            }
        }
    }
}
