// SPDX-License-Identifier: Apache-2.0

internal import Media

/// How long writes to a file, or other file operations, take.
package struct WriteLatencyStatus: Sendable, Codable, Equatable {
    /// The number of counted writes.
    package var count = 0
    /// An upper bound of the median, in milliseconds. It is the next power of two of microseconds above the median, or
    /// the longest write if that is shorter.
    package var p50Milliseconds = 0.0
    /// The longest write, in milliseconds.
    package var maximumMilliseconds = 0.0
    /// An upper bound of the 99th percentile, in milliseconds, computed like ``p50Milliseconds``.
    package var p99Milliseconds = 0.0
    /// For each of ``bounds``, the number of writes that took no longer than this bound.
    package var counts: [Int] = []
    /// The sum of all durations, in seconds.
    package var totalSeconds = 0.0

    /// The bounds of ``counts``, in seconds. They range from a write to the page cache to a disk that hangs.
    package static let bounds = [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
}

/// A histogram of durations by powers of two of microseconds, and by ``WriteLatencyStatus/bounds``. Its size is fixed,
/// and its maximum is exact.
struct LatencyHistogram {
    private static let bounds = WriteLatencyStatus.bounds.map { Int64(($0 * 1e9).rounded()) }

    private var buckets = [Int](repeating: 0, count: 40)
    /// For each of the bounds, the number of durations up to this bound and above the previous bound.
    private var parts = [Int](repeating: 0, count: bounds.count)
    private var sum: Int64 = 0
    private var count = 0
    private var maximum: Int64 = 0

    /// Counts one duration.
    mutating func record(_ duration: Duration) {
        let nanoseconds = duration.inNanoseconds
        let microseconds = UInt64(clamping: nanoseconds / 1000)
        let index = min(buckets.count - 1, UInt64.bitWidth - microseconds.leadingZeroBitCount)
        buckets[index] += 1
        if let part = Self.bounds.firstIndex(where: { nanoseconds <= $0 }) { parts[part] += 1 }
        count += 1
        sum &+= nanoseconds
        maximum = max(maximum, nanoseconds)
    }

    /// Returns an upper bound, in milliseconds, of a percentile. The percentile is the shortest duration that at least
    /// `percent` percent of the counted durations do not exceed. The bound is at most twice as long as the percentile,
    /// or is a microsecond.
    private func bound(_ percent: Int) -> Double {
        var seen = 0
        let index = buckets.firstIndex { bucket in
            seen += bucket
            return seen * 100 >= count * percent
        }
        let bound = count == 0 ? 0 : Double(UInt64(1) << UInt64(index ?? 0)) / 1000
        return min(bound, Double(maximum) / 1e6)
    }

    var status: WriteLatencyStatus {
        var seen = 0
        let counts = parts.map { part in
            seen += part
            return seen
        }
        return WriteLatencyStatus(
            count: count, p50Milliseconds: bound(50), maximumMilliseconds: Double(maximum) / 1e6,
            p99Milliseconds: bound(99), counts: counts, totalSeconds: Double(sum) / 1e9)
    }
}
