// SPDX-License-Identifier: Apache-2.0

/// Scales eight rows horizontally at the same time, by a table with two taps.
///
/// Indexed loads take most of the time. Therefore the rows are interleaved, so that the eight samples of a column are
/// next to each other and one load fetches two columns. Only one thread may use the object at a time.
final class EightRows {
    /// One number for each of the eight rows.
    typealias Lanes = SIMD8<UInt16>

    /// The number of rows that are scaled at the same time.
    static let count = 8

    private let rows = Scratch<UInt8>()
    private let columns = Scratch<UInt64>()
    private let lines = Scratch<UInt8>()
    /// Length of the input and output rows in samples, rounded up to a multiple of eight.
    private var (width, length) = (0, 0)

    /// Reserves memory for rows of `width` samples that are scaled to `length` samples. The contents of the memory are
    /// undefined.
    func reserve(width: Int, length: Int) {
        (self.width, self.length) = (Self.whole(width), Self.whole(length))
        _ = rows.reserve(Self.count * self.width)
        _ = columns.reserve(self.width)
        _ = lines.reserve(Self.count * self.length)
    }

    private static func whole(_ count: Int) -> Int { (count + Self.count - 1) / Self.count * Self.count }

    /// The memory of an input row, which the caller fills before ``scale(by:)``.
    func row(_ index: Int) -> UnsafeMutablePointer<UInt8> { rows.base + index * width }

    /// An output row, which ``scale(by:)`` has filled.
    func line(_ index: Int) -> UnsafePointer<UInt8> { UnsafePointer(lines.base + index * length) }

    /// Scales all rows by `table`, which must have two taps.
    func scale(by table: AxisTable) {
        weave()
        table.starts.withUnsafeBufferPointer { starts in
            table.lanes.withUnsafeBufferPointer { lanes in
                guard let starts = starts.baseAddress, let lanes = lanes.baseAddress else { return }
                Self.scale(columns.base, starts, lanes, length, into: lines.base)
            }
        }
    }

    private func weave() {
        let (rows, stride, columns) = (UnsafeRawPointer(rows.base), width, columns.base)
        for x in Swift.stride(from: 0, to: width, by: Self.count) {
            @inline(__always) func row(_ index: Int) -> SIMD8<UInt8> {
                rows.loadUnaligned(fromByteOffset: index &* stride &+ x, as: SIMD8<UInt8>.self)
            }
            let woven = Self.transposed(row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7))
            UnsafeMutableRawPointer(columns + x).storeBytes(of: woven, as: SIMD16<UInt32>.self)
        }
    }

    private static func scale(
        _ columns: UnsafePointer<UInt64>, _ starts: UnsafePointer<Int32>, _ lanes: UnsafePointer<Lanes>, _ length: Int,
        into lines: UnsafeMutablePointer<UInt8>
    ) {
        let columns = UnsafeRawPointer(columns)
        for x in stride(from: 0, to: length, by: count) {
            @inline(__always) func column(_ index: Int) -> SIMD8<UInt8> {
                let both = columns.loadUnaligned(fromByteOffset: 8 &* Int(starts[x &+ index]), as: SIMD16<UInt8>.self)
                let (left, right) = (Lanes(truncatingIfNeeded: both.lowHalf), Lanes(truncatingIfNeeded: both.highHalf))
                // Intermediate results may overflow 16 bits. The overflow cancels out, because the final sum fits 16
                // bits.
                let sum = left &<< 8 &+ (right &- left) &* lanes[x &+ index] &+ 128
                return SIMD8<UInt8>(truncatingIfNeeded: sum &>> 8)
            }
            let all = transposed(column(0), column(1), column(2), column(3), column(4), column(5), column(6), column(7))
            let line = UnsafeMutableRawPointer(lines + x)
            store(all.lowHalf, to: line, length)
            store(all.highHalf, to: line + 4 &* length, length)
        }
    }

    /// Stores eight samples in each of four rows.
    @inline(__always)
    private static func store(_ samples: SIMD8<UInt32>, to line: UnsafeMutableRawPointer, _ length: Int) {
        line.storeBytes(of: samples.lowHalf.lowHalf, as: SIMD2<UInt32>.self)
        (line + length).storeBytes(of: samples.lowHalf.highHalf, as: SIMD2<UInt32>.self)
        (line + 2 &* length).storeBytes(of: samples.highHalf.lowHalf, as: SIMD2<UInt32>.self)
        (line + 3 &* length).storeBytes(of: samples.highHalf.highHalf, as: SIMD2<UInt32>.self)
    }

    /// Transposes eight rows of eight samples. In the result, the first sample of each row comes first in memory.
    @inline(__always)
    private static func transposed(
        _ v0: SIMD8<UInt8>, _ v1: SIMD8<UInt8>, _ v2: SIMD8<UInt8>, _ v3: SIMD8<UInt8>, _ v4: SIMD8<UInt8>,
        _ v5: SIMD8<UInt8>, _ v6: SIMD8<UInt8>, _ v7: SIMD8<UInt8>
    ) -> SIMD16<UInt32> {
        var all = SIMD16<UInt32>()
        all.evenHalf = woven(woven(v0, v1), woven(v2, v3))
        all.oddHalf = woven(woven(v4, v5), woven(v6, v7))
        return all
    }

    @inline(__always)
    private static func woven(_ even: SIMD8<UInt8>, _ odd: SIMD8<UInt8>) -> SIMD8<UInt16> {
        var both = SIMD16<UInt8>()
        (both.evenHalf, both.oddHalf) = (even, odd)
        return unsafeBitCast(both, to: SIMD8<UInt16>.self)
    }

    @inline(__always)
    private static func woven(_ even: SIMD8<UInt16>, _ odd: SIMD8<UInt16>) -> SIMD8<UInt32> {
        var both = SIMD16<UInt16>()
        (both.evenHalf, both.oddHalf) = (even, odd)
        return unsafeBitCast(both, to: SIMD8<UInt32>.self)
    }
}
