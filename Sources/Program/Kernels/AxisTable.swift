// SPDX-License-Identifier: Apache-2.0

/// Which samples of a source, along one axis, each sample of a scaled frame is made of, and in which parts of 256.
///
/// Where samples become fewer, each is the mean of what it covers; where they become more, it lies on the line between two.
/// Sources and targets lie edge on edge, as libswscale has them. Made once for a size and kept.
final class AxisTable {
    /// What a table is for.
    struct Key: Equatable {
        /// Samples that the source has.
        var count: Int
        /// Where the window that is shown begins, in source samples.
        var start: Double
        /// Its length.
        var length: Double
        /// Samples of the target that the window fills.
        var target: Int
        /// The first of those that are visible.
        var first: Int
        /// How many are visible.
        var visible: Int
        /// Whether samples lie between two of the source, also where they become fewer.
        var isLinear = false
    }

    private var key: Key?
    /// How many source samples there are to each.
    private(set) var taps = 0
    /// The first source sample of each.
    private(set) var starts: [Int32] = []
    /// The parts, ``taps`` for each; their sum is 256.
    private(set) var weights: [UInt16] = []

    /// Makes this the table for `key`.
    func prepare(_ key: Key) {
        guard key != self.key else { return }
        self.key = key
        starts.removeAll(keepingCapacity: true)
        weights.removeAll(keepingCapacity: true)
        let step = key.length / Double(key.target)
        if key.isLinear || step < 1 { makeLinear(key, step) } else { makeArea(key, step) }
    }

    private func makeLinear(_ key: Key, _ step: Double) {
        taps = min(2, key.count)
        for index in key.first..<key.first + key.visible {
            let center = key.start + (Double(index) + 0.5) * step - 0.5
            let position = min(max(0, center), Double(key.count - 1))
            let start = min(Int(position), max(0, key.count - 2))
            let weight = UInt16(((position - Double(start)) * 256).rounded())
            starts.append(Int32(start))
            if taps == 2 { weights.append(256 - weight) }
            weights.append(taps == 2 ? weight : 256)
        }
    }

    private func makeArea(_ key: Key, _ step: Double) {
        // A window of this length touches no more samples, wherever it begins; a whole one, at whole places, one fewer.
        let isWhole = step == step.rounded() && key.start == key.start.rounded()
        taps = min(key.count, isWhole ? Int(step) : Int(step.rounded(.up)) + 1)
        for index in key.first..<key.first + key.visible {
            let from = min(max(0, key.start + Double(index) * step), Double(key.count) - 1)
            let to = min(max(from + 1, key.start + Double(index + 1) * step), Double(key.count))
            let start = min(Int(from), key.count - taps)
            starts.append(Int32(start))
            var given = 0
            for tap in 0..<taps {
                let end = min(max(Double(start + tap + 1), from), to)
                let sum = Int(((end - from) / (to - from) * 256).rounded())
                weights.append(UInt16(sum - given))
                given = sum
            }
        }
    }

    /// For a table of two taps or one: the first source sample of `index`, and the part in 256 of the one behind it.
    func pair(_ index: Int) -> (start: Int, weight: UInt16) {
        (Int(starts[index]), taps == 2 ? weights[2 * index + 1] : 0)
    }

    /// Makes a row of the target from a row of the source.
    func scale(_ source: UnsafePointer<UInt8>, into target: UnsafeMutablePointer<UInt8>) {
        starts.withUnsafeBufferPointer { starts in
            weights.withUnsafeBufferPointer { weights in
                guard let first = starts.baseAddress, let weight = weights.baseAddress else { return }
                switch taps {
                case 1: for x in 0..<starts.count { target[x] = source[Int(first[x])] }
                case 2: Self.scale2(source, first, weight, starts.count, into: target)
                case 3: Self.scale3(source, first, weight, starts.count, into: target)
                default: Self.scale(source, first, weight, starts.count, taps, into: target)
                }
            }
        }
    }

    private static func scale2(
        _ source: UnsafePointer<UInt8>, _ starts: UnsafePointer<Int32>, _ weights: UnsafePointer<UInt16>, _ count: Int,
        into target: UnsafeMutablePointer<UInt8>
    ) {
        for x in 0..<count {
            let at = source + Int(starts[x])
            let (left, right) = (Int32(at[0]), Int32(at[1]))
            let value = left &<< 8 &+ (right &- left) &* Int32(weights[2 &* x &+ 1]) &+ 128
            target[x] = UInt8(truncatingIfNeeded: value &>> 8)
        }
    }

    private static func scale3(
        _ source: UnsafePointer<UInt8>, _ starts: UnsafePointer<Int32>, _ weights: UnsafePointer<UInt16>, _ count: Int,
        into target: UnsafeMutablePointer<UInt8>
    ) {
        for x in 0..<count {
            let at = source + Int(starts[x])
            let weight = weights + 3 &* x
            let value =
                Int32(at[0]) &* Int32(weight[0]) &+ Int32(at[1]) &* Int32(weight[1])
                &+ Int32(at[2]) &* Int32(weight[2]) &+ 128
            target[x] = UInt8(truncatingIfNeeded: value &>> 8)
        }
    }

    private static func scale(
        _ source: UnsafePointer<UInt8>, _ starts: UnsafePointer<Int32>, _ weights: UnsafePointer<UInt16>, _ count: Int,
        _ taps: Int, into target: UnsafeMutablePointer<UInt8>
    ) {
        for x in 0..<count {
            let at = source + Int(starts[x])
            let weight = weights + taps &* x
            var value: UInt32 = 128
            for tap in 0..<taps { value = value &+ UInt32(at[tap]) &* UInt32(weight[tap]) }
            target[x] = UInt8(truncatingIfNeeded: value &>> 8)
        }
    }

    /// Makes row `index` of the target, as wide as the source, from rows of the source.
    ///
    /// `sums` has room for a row. Gives the row itself where it is one of the source's, else `target`.
    func blend(
        _ source: SourcePlane, row index: Int, sums: UnsafeMutablePointer<UInt16>,
        into target: UnsafeMutablePointer<UInt8>
    ) -> UnsafePointer<UInt8> {
        let start = Int(starts[index])
        let first = index * taps
        if let whole = (0..<taps).first(where: { weights[first + $0] == 256 }) { return source.row(start + whole) }
        if taps == 2 {
            Self.mix(source.row(start), source.row(start + 1), weights[first + 1], source.width, into: target)
            return UnsafePointer(target)
        }
        Self.begin(source.row(start), weights[first], sums, source.width)
        for tap in 1..<taps - 1 where weights[first + tap] != 0 {
            Self.add(source.row(start + tap), weights[first + tap], sums, source.width)
        }
        Self.end(source.row(start + taps - 1), weights[first + taps - 1], sums, source.width, into: target)
        return UnsafePointer(target)
    }

    private static func mix(
        _ a: UnsafePointer<UInt8>, _ b: UnsafePointer<UInt8>, _ weight: UInt16, _ count: Int,
        into target: UnsafeMutablePointer<UInt8>
    ) {
        let rest = 256 &- weight
        for x in 0..<count {
            let sum = UInt16(a[x]) &* rest &+ UInt16(b[x]) &* weight &+ 128
            target[x] = UInt8(truncatingIfNeeded: sum &>> 8)
        }
    }

    private static func begin(
        _ row: UnsafePointer<UInt8>, _ weight: UInt16, _ sums: UnsafeMutablePointer<UInt16>, _ count: Int
    ) {
        for x in 0..<count { sums[x] = UInt16(row[x]) &* weight &+ 128 }
    }

    private static func add(
        _ row: UnsafePointer<UInt8>, _ weight: UInt16, _ sums: UnsafeMutablePointer<UInt16>, _ count: Int
    ) {
        for x in 0..<count { sums[x] = sums[x] &+ UInt16(row[x]) &* weight }
    }

    private static func end(
        _ row: UnsafePointer<UInt8>, _ weight: UInt16, _ sums: UnsafePointer<UInt16>, _ count: Int,
        into target: UnsafeMutablePointer<UInt8>
    ) {
        for x in 0..<count {
            target[x] = UInt8(truncatingIfNeeded: (sums[x] &+ UInt16(row[x]) &* weight) &>> 8)
        }
    }
}
