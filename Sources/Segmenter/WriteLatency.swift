// SPDX-License-Identifier: Apache-2.0

/// How long writes take.
public struct WriteLatencyStatus: Sendable, Codable, Equatable {
    /// Writes counted.
    public var count = 0
    /// The bound under which half of them stay, in milliseconds; a power of two of microseconds.
    public var p50Milliseconds = 0.0
    /// The longest, in milliseconds.
    public var maximumMilliseconds = 0.0
    /// The bound under which 99 of 100 stay, in milliseconds; a power of two of microseconds.
    public var p99Milliseconds = 0.0
}

/// A histogram of durations by powers of two of microseconds: fixed in size, exact in its maximum.
struct LatencyHistogram {
    private var buckets = [Int](repeating: 0, count: 40)
    private var count = 0
    private var maximum: Int64 = 0

    /// Counts one duration in nanoseconds.
    mutating func record(_ nanoseconds: Int64) {
        let microseconds = UInt64(clamping: nanoseconds / 1000)
        let index = min(buckets.count - 1, UInt64.bitWidth - microseconds.leadingZeroBitCount)
        buckets[index] += 1
        count += 1
        maximum = max(maximum, nanoseconds)
    }

    /// The bound in milliseconds under which `percent` of 100 stay.
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
        WriteLatencyStatus(
            count: count, p50Milliseconds: bound(50), maximumMilliseconds: Double(maximum) / 1e6,
            p99Milliseconds: bound(99))
    }
}
