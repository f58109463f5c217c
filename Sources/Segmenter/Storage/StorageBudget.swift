// SPDX-License-Identifier: Apache-2.0

package import Media

/// How much space a recording needs. Integers throughout; what does not fit in 64 bits is `Int64.max`.
package struct StorageBudget: Sendable, Hashable {
    /// Bits a second of both tracks, without the container.
    package var bitrate: Int64
    /// How long the recording is expected to be.
    package var duration: Duration
    /// Bytes that must stay free, if set by the operator.
    package var configuredReserve: Int64?
    /// Bytes of the file system in all; nil if that is not known. A small disk has a small reserve.
    package var capacity: Int64?
    /// Bytes that other recordings on the same file system still need.
    package var neededByOthers: Int64 = 0

    /// What recordings of `videoBitrate` and `audioBitrate` bits a second over `duration` need on a file system of
    /// `capacity` bytes.
    package init(
        videoBitrate: Int, audioBitrate: Int, duration: Duration, reserve: ByteSize? = nil, capacity: Int64? = nil
    ) {
        let (sum, overflow) = Int64(max(0, videoBitrate)).addingReportingOverflow(Int64(max(0, audioBitrate)))
        bitrate = overflow ? .max : sum
        self.duration = duration
        configuredReserve = reserve?.bytes
        self.capacity = capacity
    }

    /// Bytes that `duration` takes: bitrate and 2 % for the container, rounded up.
    package func bytes(in duration: Duration) -> Int64 { bytes(in: duration, times: 1) }

    /// Bytes that must be free before recording starts: twice what the recording takes, and so much that it does not end
    /// at the reserve before its time; and what others need.
    package var requiredBytes: Int64 { Self.sum(ownBytes, neededByOthers) }

    private var ownBytes: Int64 { max(doubleBytes, Self.sum(bytes(in: duration), reserveBytes)) }

    /// Whether the reserve is why ``requiredBytes`` are so many.
    var needsReserve: Bool { ownBytes > doubleBytes }

    /// What a recording that has written so much still needs: twice what is left of it.
    package func bytes(after written: Int64) -> Int64 {
        let left = rest(after: written)
        return Self.sum(left, left)
    }

    /// What is left of a recording that has written so much.
    package func rest(after written: Int64) -> Int64 { max(0, bytes(in: duration) - max(0, written)) }

    /// Twice what the recording takes.
    private var doubleBytes: Int64 { bytes(in: duration, times: 2) }

    private func bytes(in duration: Duration, times factor: Int128) -> Int64 {
        let rate = Int128(bitrate) * 102 * factor
        let (bits, overflow) = rate.multipliedReportingOverflow(by: Int128(max(0, duration.inNanoseconds)))
        guard !overflow else { return .max }
        let (whole, rest) = bits.quotientAndRemainder(dividingBy: 100 * 8 * 1_000_000_000)
        return Int64(clamping: whole + (rest > 0 ? 1 : 0))
    }

    /// Bytes that stay free: recording stops before they are touched. By default 1 GiB, but no more than a tenth of the
    /// file system and no less than a minute of recording.
    package var reserveBytes: Int64 {
        configuredReserve ?? max(min(1 << 30, capacity.map { $0 / 10 } ?? .max), bytes(in: .seconds(60)))
    }

    /// Free bytes from which recording resumes: five seconds of recording above the reserve, so that it does not stop again
    /// at once, and no more, because somebody who has made room waits for it. At a low bitrate it is more than a file that
    /// is closed gives back and a new one takes at once: otherwise its own stop would be what makes it begin again.
    package var resumeBytes: Int64 {
        Self.sum(reserveBytes, max(bytes(in: .seconds(5)), 2 * Preallocation.leastStep))
    }

    /// Free bytes that retention keeps at least, so that old files are deleted before recording stops: a minute above
    /// what lets recording continue. On a small disk a minute would be much of it, so that is at most a tenth of the
    /// file system.
    package var retentionGoalBytes: Int64 {
        Self.sum(resumeBytes, min(bytes(in: .seconds(60)), capacity.map { $0 / 10 } ?? .max))
    }

    /// The sum of two numbers that are not negative.
    private static func sum(_ first: Int64, _ second: Int64) -> Int64 {
        let (sum, overflow) = first.addingReportingOverflow(second)
        return overflow ? .max : sum
    }
}
