// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The progress at which each pixel changes in a dissolve. The values are a fixed noise, the same as in FFmpeg's filter
/// `xfade`.
///
/// A luma sample comes either from `a` or from `b`. A chroma sample covers four luma samples, and is mixed in the
/// proportion in which these come from `a` and `b`, so that colors match brightness.
struct DissolveNoise {
    private let width: Int
    private let thresholds: [UInt8]

    init(width: Int, height: Int) {
        self.width = width
        thresholds = (0..<width * height).map { index in
            // The constants and the precision are those of frand() in libavfilter's vf_xfade.c.
            let (x, y) = (Float(index % width), Float(index / width))
            let noise = sinf(x * 12.9898 + y * 78.233) * 43758.545
            return UInt8(min(255, (noise - noise.rounded(.down)) * 256))
        }
    }

    func draw(_ a: SourcePlanes, _ b: SourcePlanes, _ progress: Double, _ target: TargetPlanes) {
        let limit = UInt8(min(255, TransitionRenderer.weight(progress)))
        thresholds.withUnsafeBufferPointer { thresholds in
            guard let noise = thresholds.baseAddress else { return }
            for y in 0..<target.y.height {
                Self.choose(a.y.row(y), b.y.row(y), noise + y * width, limit, width, into: target.y.row(y))
            }
            for y in 0..<target.u.height {
                let line = noise + 2 * y * width
                Self.mix(a.u.row(y), b.u.row(y), line, width, limit, into: target.u.row(y))
                Self.mix(a.v.row(y), b.v.row(y), line, width, limit, into: target.v.row(y))
            }
        }
    }

    private static func choose(
        _ a: UnsafePointer<UInt8>, _ b: UnsafePointer<UInt8>, _ noise: UnsafePointer<UInt8>, _ limit: UInt8,
        _ count: Int, into target: UnsafeMutablePointer<UInt8>
    ) {
        for x in 0..<count {
            // Both values are loaded before one is chosen. Otherwise the loop would branch, and be twenty times slower.
            let (old, new) = (a[x], b[x])
            target[x] = noise[x] < limit ? new : old
        }
    }

    /// Mixes a row of chroma samples by the noise of two luma rows, which have the length `width`. Each load fetches
    /// two values of the noise.
    private static func mix(
        _ a: UnsafePointer<UInt8>, _ b: UnsafePointer<UInt8>, _ noise: UnsafePointer<UInt8>, _ width: Int,
        _ limit: UInt8, into target: UnsafeMutablePointer<UInt8>
    ) {
        let (upper, lower) = (UnsafeRawPointer(noise), UnsafeRawPointer(noise + width))
        let limit = UInt16(limit)
        for x in 0..<width / 2 {
            let first = upper.loadUnaligned(fromByteOffset: 2 &* x, as: UInt16.self)
            let second = lower.loadUnaligned(fromByteOffset: 2 &* x, as: UInt16.self)
            // A negative difference has its highest bit set. `count` is the number of luma samples that come from `b`.
            let count =
                ((first & 255) &- limit) &>> 15 &+ ((first &>> 8) &- limit) &>> 15
                &+ ((second & 255) &- limit) &>> 15 &+ ((second &>> 8) &- limit) &>> 15
            let sum = UInt16(a[x]) &* (4 &- count) &+ UInt16(b[x]) &* count &+ 2
            target[x] = UInt8(truncatingIfNeeded: sum &>> 2)
        }
    }
}
