// SPDX-License-Identifier: Apache-2.0

/// Reduces planes by integer factors: each sample is the mean of a box of source samples, rounded to the nearest
/// integer.
enum BoxReduction {
    /// The largest supported factor.
    static let largest = 16

    /// Draws `source` into `target`, reduced by the factors `columns` and `rows`. The upper left corner of the reduced
    /// source is at `origin` in the target. Only the rectangle `part` is drawn, which lies inside the reduced source.
    /// `sums` is temporary memory for one row of the source.
    static func draw(
        _ source: SourcePlane, by columns: Int, _ rows: Int, origin: (x: Int, y: Int), part: PixelRectangle,
        into target: TargetPlane, sums: UnsafeMutablePointer<UInt16>
    ) {
        let left = (part.x - origin.x) * columns
        for y in part.y..<part.y + part.height {
            let row = source.row((y - origin.y) * rows) + left
            let place = target.row(y) + part.x
            switch (columns, rows) {
            case (2, 2): halve(row, source.stride, count: part.width, into: place)
            case (4, 4): quarter(row, source.stride, count: part.width, into: place)
            default: reduce(row, source.stride, columns, rows, count: part.width, into: place, sums: sums)
            }
        }
    }

    /// Reduces two rows to one row of half their length. Each load fetches two samples.
    static func halve(
        _ source: UnsafePointer<UInt8>, _ stride: Int, count: Int, into target: UnsafeMutablePointer<UInt8>
    ) {
        let (upper, lower) = (UnsafeRawPointer(source), UnsafeRawPointer(source + stride))
        for x in 0..<count {
            let a = upper.loadUnaligned(fromByteOffset: 2 &* x, as: UInt16.self)
            let b = lower.loadUnaligned(fromByteOffset: 2 &* x, as: UInt16.self)
            let sum = (a & 255) &+ (a &>> 8) &+ (b & 255) &+ (b &>> 8)
            target[x] = UInt8(truncatingIfNeeded: (sum &+ 2) &>> 2)
        }
    }

    /// Reduces four rows to one row of a quarter of their length. Each load fetches four samples, which are added in
    /// pairs.
    private static func quarter(
        _ source: UnsafePointer<UInt8>, _ stride: Int, count: Int, into target: UnsafeMutablePointer<UInt8>
    ) {
        let (r0, r1) = (UnsafeRawPointer(source), UnsafeRawPointer(source + stride))
        let (r2, r3) = (UnsafeRawPointer(source + 2 * stride), UnsafeRawPointer(source + 3 * stride))
        let even: UInt32 = 0x00FF_00FF
        for x in 0..<count {
            let a = r0.loadUnaligned(fromByteOffset: 4 &* x, as: UInt32.self)
            let b = r1.loadUnaligned(fromByteOffset: 4 &* x, as: UInt32.self)
            let c = r2.loadUnaligned(fromByteOffset: 4 &* x, as: UInt32.self)
            let d = r3.loadUnaligned(fromByteOffset: 4 &* x, as: UInt32.self)
            let left = (a & even) &+ (b & even) &+ (c & even) &+ (d & even)
            let right = (a &>> 8 & even) &+ (b &>> 8 & even) &+ (c &>> 8 & even) &+ (d &>> 8 & even)
            let pairs = left &+ right
            target[x] = UInt8(truncatingIfNeeded: ((pairs & 0xFFFF) &+ (pairs &>> 16) &+ 8) &>> 4)
        }
    }

    private static func reduce(
        _ source: UnsafePointer<UInt8>, _ stride: Int, _ columns: Int, _ rows: Int, count: Int,
        into target: UnsafeMutablePointer<UInt8>, sums: UnsafeMutablePointer<UInt16>
    ) {
        add(source, stride, rows, count: count * columns, into: sums)
        if columns == 3, rows == 3 { return third(sums, count: count, into: target) }
        // The division by the box's size is a multiplication by its reciprocal, which is rounded up. The result is
        // exact for boxes of up to 16 by 16 samples.
        let size = UInt32(columns * rows)
        let reciprocal = ((1 << 24) + size - 1) / size
        for x in 0..<count {
            var sum = size / 2
            for column in 0..<columns { sum = sum &+ UInt32(sums[x &* columns &+ column]) }
            target[x] = UInt8(truncatingIfNeeded: (UInt64(sum) &* UInt64(reciprocal)) &>> 24)
        }
    }

    /// Adds three neighboring column sums, divides the total by 9 and rounds to the nearest integer. The division is a
    /// multiplication by the reciprocal.
    private static func third(_ sums: UnsafePointer<UInt16>, count: Int, into target: UnsafeMutablePointer<UInt8>) {
        for x in 0..<count {
            let sum = sums[3 &* x] &+ sums[3 &* x &+ 1] &+ sums[3 &* x &+ 2]
            target[x] = UInt8(truncatingIfNeeded: (UInt32(sum) &* 7282 &+ 32768) &>> 16)
        }
    }

    /// Adds the samples of `rows` rows column by column, and stores one sum for each column.
    private static func add(
        _ source: UnsafePointer<UInt8>, _ stride: Int, _ rows: Int, count: Int, into sums: UnsafeMutablePointer<UInt16>
    ) {
        var first = 1
        if rows >= 3 {
            let (second, third) = (source + stride, source + 2 * stride)
            for x in 0..<count { sums[x] = UInt16(source[x]) &+ UInt16(second[x]) &+ UInt16(third[x]) }
            first = 3
        } else {
            for x in 0..<count { sums[x] = UInt16(source[x]) }
        }
        for y in first..<max(first, rows) {
            let row = source + y &* stride
            for x in 0..<count { sums[x] = sums[x] &+ UInt16(row[x]) }
        }
    }
}
