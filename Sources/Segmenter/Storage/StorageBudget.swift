// SPDX-License-Identifier: Apache-2.0

package import Media

/// How much space a recording needs. All arithmetic uses integers; a result that does not fit in 64 bits is
/// `Int64.max`.
package struct StorageBudget: Sendable, Hashable {
    /// Bits per second of both tracks, without the container.
    package var bitrate: Int64
    /// How long the recording is expected to be.
    package var duration: Duration
    /// Bytes that must stay free, if the operator set them.
    package var configuredReserve: Int64?
    /// The total bytes of the file system; nil if unknown. The reserve is smaller on a small disk.
    package var capacity: Int64?
    /// Bytes that other recordings on the same file system still need.
    package var neededByOthers: Int64 = 0

    /// Creates the budget of a recording of `duration` with `videoBitrate` and `audioBitrate` bits per second, on a
    /// file system of `capacity` bytes.
    package init(
        videoBitrate: Int, audioBitrate: Int, duration: Duration, reserve: ByteSize? = nil, capacity: Int64? = nil
    ) {
        let (sum, overflow) = Int64(max(0, videoBitrate)).addingReportingOverflow(Int64(max(0, audioBitrate)))
        bitrate = overflow ? .max : sum
        self.duration = duration
        configuredReserve = reserve?.bytes
        self.capacity = capacity
    }

    /// Returns the bytes that `duration` takes: the bitrate plus 2 % for the container, rounded up.
    package func bytes(in duration: Duration) -> Int64 { bytes(in: duration, times: 1) }

    /// Bytes that must be free before recording starts. For the recording itself this is twice its size, or its size
    /// plus the reserve, whichever is more. The bytes that other recordings need are added.
    package var requiredBytes: Int64 { Self.sum(ownBytes, neededByOthers) }

    private var ownBytes: Int64 { max(doubleBytes, Self.sum(bytes(in: duration), reserveBytes)) }

    /// Whether the reserve determines ``requiredBytes``.
    var needsReserve: Bool { ownBytes > doubleBytes }

    /// Returns how many bytes a recording still needs after it has written `written` bytes: twice its remaining size.
    package func bytes(after written: Int64) -> Int64 {
        let left = rest(after: written)
        return Self.sum(left, left)
    }

    /// Returns how many bytes a recording is still expected to write after `written` bytes.
    package func rest(after written: Int64) -> Int64 { max(0, bytes(in: duration) - max(0, written)) }

    /// Twice the size of the recording.
    private var doubleBytes: Int64 { bytes(in: duration, times: 2) }

    private func bytes(in duration: Duration, times factor: Int128) -> Int64 {
        let rate = Int128(bitrate) * 102 * factor
        let (bits, overflow) = rate.multipliedReportingOverflow(by: Int128(max(0, duration.inNanoseconds)))
        guard !overflow else { return .max }
        let (whole, rest) = bits.quotientAndRemainder(dividingBy: 100 * 8 * 1_000_000_000)
        return Int64(clamping: whole + (rest > 0 ? 1 : 0))
    }

    /// Bytes that stay free: recording stops before it uses them. The default is 1 GiB, but at most a tenth of the file
    /// system, and always at least the size of a minute of recording.
    package var reserveBytes: Int64 {
        configuredReserve ?? max(min(1 << 30, capacity.map { $0 / 10 } ?? .max), bytes(in: .seconds(60)))
    }

    /// The free bytes at which a stopped recording resumes. The value is the reserve plus five seconds of recording, so
    /// that recording does not stop again at once. It is not more, because an operator who has freed space waits for
    /// the recording to resume. At a low bitrate, two of the smallest preallocation steps are added to the reserve
    /// instead of five seconds: closing a file releases preallocated space, and this alone must not let the recording
    /// resume.
    package var resumeBytes: Int64 { Self.sum(reserveBytes, max(bytes(in: .seconds(5)), 2 * Preallocation.leastStep)) }

    /// The free bytes that retention maintains by deleting old files, so that recording does not have to stop. The
    /// value is a minute of recording above ``resumeBytes``. On a small disk, this minute counts as at most a tenth of
    /// the file system.
    package var retentionGoalBytes: Int64 {
        Self.sum(resumeBytes, min(bytes(in: .seconds(60)), capacity.map { $0 / 10 } ?? .max))
    }

    /// Adds two numbers that are not negative.
    private static func sum(_ first: Int64, _ second: Int64) -> Int64 {
        let (sum, overflow) = first.addingReportingOverflow(second)
        return overflow ? .max : sum
    }
}
