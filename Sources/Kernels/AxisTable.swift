// SPDX-License-Identifier: Apache-2.0

/// A table for scaling along one axis. For each sample of the scaled frame, it lists the source samples that are mixed
/// into it, with their weights in parts of 256.
///
/// If the frame shrinks, each sample is the mean of the source samples that it covers. If it grows, each sample is
/// interpolated between two source samples. The outer edges of source and target coincide, as in libswscale. An object
/// holds one table, and computes it again only when its parameters change.
final class AxisTable {
    /// The parameters of a table.
    struct Key: Equatable {
        /// Number of source samples.
        var count: Int
        /// Start of the window, which is the part of the source that is scaled; in source samples, perhaps a fraction.
        var start: Double
        /// Length of the window, in source samples.
        var length: Double
        /// Number of target samples that the whole window fills.
        var target: Int
        /// Index of the first target sample inside the canvas. The table contains only the samples inside the canvas.
        var first: Int
        /// Number of target samples inside the canvas.
        var visible: Int
        /// Whether a sample is always interpolated between two source samples, even where the frame shrinks.
        var isLinear = false
    }

    private var key: Key?
    /// Number of source samples that are mixed into each target sample.
    private(set) var taps = 0
    /// For each target sample, the index of its first source sample.
    private(set) var starts: [Int32] = []
    /// The weights of the source samples: ``taps`` for each target sample, with a sum of 256.
    private(set) var weights: [UInt16] = []
    /// The weights ordered by tap: the first taps of all samples, then the second taps of all samples, and so on.
    private var columns: [UInt16] = []
    /// Only for tables with two taps: the weight of each second tap, repeated eight times for ``EightRows``. Like
    /// ``starts``, the array is padded to a multiple of eight target samples.
    private(set) var lanes: [EightRows.Lanes] = []
    /// Number of target samples inside the canvas.
    private var visible: Int { key?.visible ?? 0 }
    private let pairs = Scratch<UInt16>()
    private let sums = Scratch<UInt16>()

    /// Computes the table for `key`, unless the object already holds this table.
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

    // This function is static and has inout arguments: in a method, Swift would check for exclusive access at each
    // sample. While a layer moves, the function runs for each frame.
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
        // The largest number of source samples that one target sample can cover. It is one less if both the number of
        // source samples for each target sample and the start of the window are whole numbers.
        let isWhole = step == step.rounded() && key.start == key.start.rounded()
        let touched = isWhole ? Int(step) : Int(step.rounded(.up)) + 1
        // The number of taps is rounded up to an even number, because samples are loaded in pairs. It is at most the
        // number of source samples, so that no pair extends beyond the row.
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

    /// For a table with one or two taps: the first source sample of target sample `index`, and the weight of the source
    /// sample after it, in parts of 256.
    func pair(_ index: Int) -> (start: Int, weight: UInt16) {
        (Int(starts[index]), taps == 2 ? weights[2 * index + 1] : 0)
    }

    /// Scales a row of the source to a row of the target.
    ///
    /// Indexed loads take most of the time. Therefore samples are loaded in pairs, and a separate loop computes eight
    /// samples at once.
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

    /// Scales a row that has too few source samples for loading them in pairs.
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

    /// Computes row `index` of the target from rows of the source, without changing their width.
    ///
    /// `sums` is temporary memory for one row. Returns the source's own row if it can be used unchanged, otherwise
    /// `target`.
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

    /// Like ``blend(_:row:sums:into:)``, but only for a table with two taps, and with weights rounded to eighths. This
    /// is three times as fast. Apart from the rounding of the weights, the result is at most one level too bright.
    func blendCoarsely(
        _ source: SourcePlane, row index: Int, into target: UnsafeMutablePointer<UInt8>
    ) -> UnsafePointer<UInt8> {
        let (start, weight) = pair(index)
        let eighths = (weight + 16) / 32
        guard eighths > 0 else { return source.row(start) }
        guard eighths < 8 else { return source.row(start + 1) }
        TargetPlane.mix(source.row(start), source.row(start + 1), eighths: eighths, count: source.width, into: target)
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
