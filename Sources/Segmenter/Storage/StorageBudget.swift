// SPDX-License-Identifier: Apache-2.0

public import Media

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
    public func bytes(in duration: Duration) -> Int64 { bytes(in: duration, times: 1) }

    /// Bytes that must be free before recording starts: twice what the recording takes.
    public var requiredBytes: Int64 { bytes(in: duration, times: 2) }

    private func bytes(in duration: Duration, times factor: Int128) -> Int64 {
        let rate = Int128(bitrate) * 102 * factor
        let (bits, overflow) = rate.multipliedReportingOverflow(by: Int128(max(0, duration.inNanoseconds)))
        guard !overflow else { return .max }
        let (whole, rest) = bits.quotientAndRemainder(dividingBy: 100 * 8 * 1_000_000_000)
        return Int64(clamping: whole + (rest > 0 ? 1 : 0))
    }

    /// Bytes that stay free: recording stops before they are touched. By default 1 GiB or a minute, whichever is more.
    public var reserveBytes: Int64 { configuredReserve ?? max(1 << 30, bytes(in: .seconds(60))) }

    /// Free bytes from which recording resumes: five seconds of recording above the reserve, so that it does not stop again
    /// at once, and no more, because somebody who has made room waits for it.
    public var resumeBytes: Int64 {
        let (sum, overflow) = reserveBytes.addingReportingOverflow(bytes(in: .seconds(5)))
        return overflow ? .max : sum
    }

    /// Free bytes that retention keeps at least: a minute above what lets recording go on, so that old files go before
    /// recording stops.
    public var retentionGoalBytes: Int64 {
        let (sum, overflow) = resumeBytes.addingReportingOverflow(bytes(in: .seconds(60)))
        return overflow ? .max : sum
    }
}
