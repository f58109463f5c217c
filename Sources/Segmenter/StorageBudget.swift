// SPDX-License-Identifier: Apache-2.0

internal import Media

/// How much space a recording needs. Integers throughout; what does not fit in 64 bits is `Int64.max`.
public struct StorageBudget: Sendable, Hashable {
    /// Bits a second of both tracks, without the container.
    public var bitrate: Int64
    /// How long the recording is expected to be.
    public var duration: Duration
    /// Bytes that must stay free, if set by the operator.
    public var configuredReserve: Int64?

    /// What recordings of `videoBitrate` and `audioBitrate` bits a second over `duration` need.
    public init(videoBitrate: Int, audioBitrate: Int, duration: Duration, reserve: ByteSize? = nil) {
        let (sum, overflow) = Int64(max(0, videoBitrate)).addingReportingOverflow(Int64(max(0, audioBitrate)))
        bitrate = overflow ? .max : sum
        self.duration = duration
        configuredReserve = reserve?.bytes
    }

    /// Bytes that `duration` takes: bitrate and 2 % for the container, rounded up.
    public func bytes(in duration: Duration) -> Int64 {
        let bits = Int128(bitrate) * 102 * Int128(max(0, duration.inNanoseconds))
        let divisor: Int128 = 100 * 8 * 1_000_000_000
        return Int64(clamping: (bits + divisor - 1) / divisor)
    }

    /// Bytes that must be free before recording starts: twice what the recording takes.
    public var requiredBytes: Int64 {
        let bits = Int128(bitrate) * 102 * 2 * Int128(max(0, duration.inNanoseconds))
        let divisor: Int128 = 100 * 8 * 1_000_000_000
        return Int64(clamping: (bits + divisor - 1) / divisor)
    }

    /// Bytes that stay free: recording stops before they are touched. By default 1 GiB or a minute, whichever is more.
    public var reserveBytes: Int64 { configuredReserve ?? max(1 << 30, bytes(in: .seconds(60))) }

    /// Free bytes from which recording resumes: enough above the reserve that it does not stop again at once.
    public var resumeBytes: Int64 {
        let (sum, overflow) = reserveBytes.addingReportingOverflow(max(reserveBytes / 4, bytes(in: .seconds(30))))
        return overflow ? .max : sum
    }
}
