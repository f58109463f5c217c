// SPDX-License-Identifier: Apache-2.0

/// Which samples of a source, along one axis, each sample of a scaled frame is made of, and in which parts of 256.
///
/// Where samples become fewer, each is the mean of what it covers; where they become more, it lies on the line between
/// two. Sources and targets lie edge on edge, as libswscale has them. Made once for a size and kept.
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
        /// Whether samples are interpolated between two of the source, even if they become fewer.
        var isLinear = false
    }

    private var key: Key?
    /// How many source samples make up each sample.
    private(set) var taps = 0
    /// The first source sample of each.
    private(set) var starts: [Int32] = []
    /// The parts, ``taps`` for each; their sum is 256.
    private(set) var weights: [UInt16] = []
    /// The same in order of taps: the first taps of all samples, then the second taps of all samples, and so on.
    private var columns: [UInt16] = []
    /// If there are two taps: the parts of the second one, once for each of ``EightRows``. Like ``starts``, they are
    /// padded to a multiple of eight samples.
    private(set) var lanes: [EightRows.Lanes] = []
    /// How many samples of the target are visible.
    private var visible: Int { key?.visible ?? 0 }
    private let pairs = Scratch<UInt16>()
    private let sums = Scratch<UInt16>()

    /// Makes this the table for `key`.
    func prepare(_ key: Key) {
        guard key != self.key else { return }
        self.key = key
        starts.removeAll(keepingCapacity: true)
        weights.removeAll(keepingCapacity: true)
        columns.removeAll(keepingCapacity: true)
        lanes.removeAll(keepingCapacity: true)
        let step = key.length / Double(key.target)
        if key.isLinear || step < 1 {
            taps = min(2, key.count)
            Self.makeLinear(key, step, taps, &starts, &weights)
        } else {
            makeArea(key, step)
        }
        Self.order(weights, of: taps, into: &columns)
        if taps == 2 { Self.pad(&starts, weights, &lanes) }
    }

    // Static, and in place: what is made for each frame of a move checks for other users of a property once, not at each
    // sample.
    private static func makeLinear(
        _ key: Key, _ step: Double, _ taps: Int, _ starts: inout [Int32], _ weights: inout [UInt16]
    ) {
        let last = Double(key.count - 1)
        for index in key.first..<key.first + key.visible {
            let center = key.start + (Double(index) + 0.5) * step - 0.5
            let position = min(max(0, center), last)
            let start = min(Int(position), max(0, key.count - 2))
            let weight = UInt16((position - Double(start)) * 256 + 0.5)
            starts.append(Int32(start))
            if taps == 2 { weights.append(256 - weight) }
            weights.append(taps == 2 ? weight : 256)
        }
    }

    private static func order(_ weights: [UInt16], of taps: Int, into columns: inout [UInt16]) {
        for tap in 0..<taps {
            for index in stride(from: tap, to: weights.count, by: taps) { columns.append(weights[index]) }
        }
    }

    private static func pad(_ starts: inout [Int32], _ weights: [UInt16], _ lanes: inout [EightRows.Lanes]) {
        for index in stride(from: 1, to: weights.count, by: 2) { lanes.append(.init(repeating: weights[index])) }
        while starts.count % EightRows.count != 0 {
            starts.append(starts[starts.count - 1])
            lanes.append(lanes[lanes.count - 1])
        }
    }

    private func makeArea(_ key: Key, _ step: Double) {
        // A window of this length touches no more samples, wherever it begins; a whole one, at whole places, one fewer.
        let isWhole = step == step.rounded() && key.start == key.start.rounded()
        let touched = isWhole ? Int(step) : Int(step.rounded(.up)) + 1
        // Samples are read in pairs, none from beyond the end.
        taps = min(key.count, (touched + 1) / 2 * 2)
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
    ///
    /// Fetching samples from places of a table is what takes the time. So they are fetched two at once, and what is
    /// computed is left to a loop that computes eight at once.
    func scale(_ source: UnsafePointer<UInt8>, into target: UnsafeMutablePointer<UInt8>) {
        let count = visible
        let (pairs, sums) = (pairs.reserve(count), sums.reserve(count))
        starts.withUnsafeBufferPointer { starts in
            columns.withUnsafeBufferPointer { columns in
                guard let starts = starts.baseAddress, let columns = columns.baseAddress else { return }
                guard taps % 2 == 0 else { return scaleSlowly(source, starts, columns, count, into: target) }
                for tap in stride(from: 0, to: taps, by: 2) {
                    Self.fetch(source + tap, starts, count, into: pairs)
                    let (left, right) = (columns + tap * count, columns + (tap + 1) * count)
                    if taps == 2 {
                        Self.mix(pairs, left, right, count, into: target)
                    } else if tap == 0 {
                        Self.begin(pairs, left, right, count, sums)
                    } else if tap < taps - 2 {
                        Self.add(pairs, left, right, count, sums)
                    } else {
                        Self.end(pairs, left, right, count, sums, into: target)
                    }
                }
            }
        }
    }

    /// For a source so small that its samples cannot be taken in pairs.
    private func scaleSlowly(
        _ source: UnsafePointer<UInt8>, _ starts: UnsafePointer<Int32>, _ columns: UnsafePointer<UInt16>, _ count: Int,
        into target: UnsafeMutablePointer<UInt8>
    ) {
        for x in 0..<count {
            var sum: UInt32 = 128
            for tap in 0..<taps { sum += UInt32(source[Int(starts[x]) + tap]) * UInt32(columns[tap * count + x]) }
            target[x] = UInt8(truncatingIfNeeded: sum >> 8)
        }
    }

    private static func fetch(
        _ source: UnsafePointer<UInt8>, _ starts: UnsafePointer<Int32>, _ count: Int,
        into pairs: UnsafeMutablePointer<UInt16>
    ) {
        let source = UnsafeRawPointer(source)
        for x in 0..<count { pairs[x] = source.loadUnaligned(fromByteOffset: Int(starts[x]), as: UInt16.self) }
    }

    private static func mix(
        _ pairs: UnsafePointer<UInt16>, _ left: UnsafePointer<UInt16>, _ right: UnsafePointer<UInt16>, _ count: Int,
        into target: UnsafeMutablePointer<UInt8>
    ) {
        for x in 0..<count {
            let sum = (pairs[x] & 255) &* left[x] &+ (pairs[x] &>> 8) &* right[x] &+ 128
            target[x] = UInt8(truncatingIfNeeded: sum &>> 8)
        }
    }

    private static func begin(
        _ pairs: UnsafePointer<UInt16>, _ left: UnsafePointer<UInt16>, _ right: UnsafePointer<UInt16>, _ count: Int,
        _ sums: UnsafeMutablePointer<UInt16>
    ) {
        for x in 0..<count { sums[x] = (pairs[x] & 255) &* left[x] &+ (pairs[x] &>> 8) &* right[x] &+ 128 }
    }

    private static func add(
        _ pairs: UnsafePointer<UInt16>, _ left: UnsafePointer<UInt16>, _ right: UnsafePointer<UInt16>, _ count: Int,
        _ sums: UnsafeMutablePointer<UInt16>
    ) {
        for x in 0..<count {
            sums[x] = sums[x] &+ (pairs[x] & 255) &* left[x] &+ (pairs[x] &>> 8) &* right[x]
        }
    }

    private static func end(
        _ pairs: UnsafePointer<UInt16>, _ left: UnsafePointer<UInt16>, _ right: UnsafePointer<UInt16>, _ count: Int,
        _ sums: UnsafePointer<UInt16>, into target: UnsafeMutablePointer<UInt8>
    ) {
        for x in 0..<count {
            let sum = sums[x] &+ (pairs[x] & 255) &* left[x] &+ (pairs[x] &>> 8) &* right[x]
            target[x] = UInt8(truncatingIfNeeded: sum &>> 8)
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
            TargetPlane.mix(
                source.row(start), source.row(start + 1), weight: weights[first + 1], count: source.width, into: target)
            return UnsafePointer(target)
        }
        Self.begin(source.row(start), weights[first], sums, source.width)
        for tap in 1..<max(1, taps - 1) where weights[first + tap] != 0 {
            Self.add(source.row(start + tap), weights[first + tap], sums, source.width)
        }
        Self.end(source.row(start + taps - 1), weights[first + taps - 1], sums, source.width, into: target)
        return UnsafePointer(target)
    }

    /// The same by a table of two taps, with parts in 8: in a third of the time, and less than one above the mean.
    func blendCoarsely(
        _ source: SourcePlane, row index: Int, into target: UnsafeMutablePointer<UInt8>
    ) -> UnsafePointer<UInt8> {
        let (start, weight) = pair(index)
        let eighths = (weight + 16) / 32
        guard eighths > 0 else { return source.row(start) }
        guard eighths < 8 else { return source.row(start + 1) }
        TargetPlane.mix(
            source.row(start), source.row(start + 1), eighths: eighths, count: source.width, into: target)
        return UnsafePointer(target)
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
