// SPDX-License-Identifier: Apache-2.0

internal import Archive
package import Media

/// Decides when a file is long enough: at multiples of a length in time, at a size, or on request. Multiples are
/// counted from the recording's start or by the wall clock.
struct SegmentSchedule {
    /// The planned end of the current file in program time; nil if no time is planned.
    var boundary: ProgramInstant? { [ownBoundary, cuts.first].compactMap(\.self).min() }
    /// The wall-clock time of program time 0. It is read only when a file begins. So if the wall clock is set, the
    /// boundaries move only once, when the next file begins.
    var programStart = UTCTime(milliseconds: 0)

    /// The configured length of a file; nil if only the caller decides when files end.
    private let length: SegmentLength?
    /// The boundary that results from ``length``.
    private var ownBoundary: ProgramInstant?
    /// Future program times at which files end in addition to ``ownBoundary``, sorted.
    private var cuts: [ProgramInstant] = []
    private let grid: WallClockGrid?
    /// The presentation time of the recording's first frame.
    private var origin: ProgramInstant?
    /// Future program times for which a keyframe was requested.
    private var requested: [ProgramInstant] = []
    private var bytes: Int64 = 0
    private var groupBytes: Int64 = 0
    private var largestGroup: Int64 = 0
    private var isCutRequested = false

    /// When a file begins, keyframes are requested for all boundaries within this time. Requests must be early because
    /// an encoder looks ahead: a request for a frame that the encoder already has is useless.
    private static let lead = Duration.seconds(5)
    /// A wall-clock boundary that follows the beginning of a file by less than this and by less than a tenth of the
    /// file's length is skipped: the same boundary has occurred just before, and occurs again only because the clock
    /// was set back a little.
    private static let nearest = Duration.seconds(2)

    /// The maximum number of future cuts. More cuts accumulate only while nothing is recorded; the oldest cuts are then
    /// dropped.
    private static let mostCuts = 64

    init(length: SegmentLength?, grid: WallClockGrid? = nil) {
        self.length = length
        self.grid = grid
    }

    /// Returns the end of file number `number`, if all files have the full length.
    private func boundary(_ number: Int64, _ duration: Duration, _ origin: ProgramInstant) -> ProgramInstant {
        let (time, overflow) = duration.inNanoseconds.multipliedReportingOverflow(by: number)
        return overflow ? .distantFuture : origin + .nanoseconds(time)
    }

    /// Returns the first boundary after `time`; `distantFuture` if no clock reaches it.
    private func boundary(after time: ProgramInstant, _ duration: Duration, _ origin: ProgramInstant) -> ProgramInstant
    {
        guard time < .distantFuture else { return .distantFuture }
        if let grid {
            let passed = min(Self.nearest, duration / 10).inMilliseconds
            let now = UTCTime(milliseconds: programStart.milliseconds + time.nanoseconds / 1_000_000 + passed)
            let wait = Duration.milliseconds(grid.next(after: now).milliseconds - programStart.milliseconds)
            return max(time + .nanoseconds(1), .zero + wait)
        }
        var number = max(1, (time - origin).inNanoseconds / max(1, duration.inNanoseconds))
        while boundary(number, duration, origin) <= time { number += 1 }
        return boundary(number, duration, origin)
    }

    /// Returns the latest possible presentation time of `keyframe`, whose time might have been rounded to the track's
    /// time base.
    private func latest(_ keyframe: EncodedPacket) -> ProgramInstant {
        let tick = keyframe.duration > 1 ? keyframe.timeBase.duration(1) : .zero
        return keyframe.programPts + tick
    }

    /// Begins a file at `keyframe`; returns the program times at which keyframes must be requested.
    mutating func begin(at keyframe: EncodedPacket) -> [ProgramInstant] {
        (bytes, groupBytes, isCutRequested) = (0, 0, false)
        let shown = latest(keyframe)
        cuts.removeAll { $0 <= shown }
        guard case .duration(let duration) = length else { return [] }
        let origin = self.origin ?? keyframe.programPts
        self.origin = origin
        let now = keyframe.programPts
        requested.removeAll { $0 < now }
        var next = boundary(after: latest(keyframe), duration, origin)
        ownBoundary = next
        var times: [ProgramInstant] = []
        // The file's own boundary is always requested, even if it is far in the future.
        repeat {
            if !requested.contains(next) { times.append(next) }
            next = boundary(after: next, duration, origin)
        } while next < now + Self.lead
        requested += times
        return times
    }

    /// Ends the file at the next keyframe.
    mutating func requestCut() { isCutRequested = true }

    /// Ends the file at the first keyframe at or after `time`.
    mutating func requestCut(at time: ProgramInstant) {
        if cuts.count == Self.mostCuts { cuts.removeFirst() }
        cuts.insert(time, at: cuts.firstIndex { $0 > time } ?? cuts.endIndex)
    }

    /// Whether the file ends before `keyframe`.
    func isCut(_ keyframe: EncodedPacket) -> Bool {
        if isCutRequested { return true }
        if let boundary, latest(keyframe) >= boundary { return true }
        return if case .bytes(let limit) = length { isNearLimit(limit) } else { false }
    }

    private func isNearLimit(_ limit: Int64) -> Bool { bytes + max(largestGroup, groupBytes) >= limit }

    /// Counts bytes that were written to the file. Returns true if a keyframe must be requested now, because the next
    /// GOP would not fit into the file. `beginsGroup` means that the file can be cut before this packet.
    mutating func wrote(_ count: Int64, beginsGroup: Bool) -> Bool {
        bytes += count
        if beginsGroup {
            // The size of the next GOP is assumed to be that of the largest recent GOP. This size decays slowly, so
            // that one minute with a high bitrate does not shorten all later files.
            largestGroup = max(groupBytes, largestGroup - largestGroup / 8)
            groupBytes = 0
        }
        groupBytes += count
        guard case .bytes(let limit) = length, !isCutRequested, isNearLimit(limit) else { return false }
        isCutRequested = true
        return true
    }
}

/// The length of the files of a recording.
package enum SegmentLength: Sendable, Hashable {
    /// By time, at least a second.
    case duration(Duration)
    /// By size, at least 1 MB.
    case bytes(Int64)

    /// Parses a text such as `30m` or `2GB`.
    package init(parsing text: String) throws(TextFailure) {
        if text.lowercased().hasSuffix("b") {
            let size = try ByteSize(parsing: text)
            guard size.bytes >= 1_000_000 else {
                throw TextFailure("A segment of \(text) is too small; 1MB is the least, 2GB is usual.")
            }
            self = .bytes(size.bytes)
            return
        }
        guard let duration = try? DurationText(parsing: text).duration else {
            throw TextFailure("\"\(text)\" is not a segment length; write for example 10s, 30m, 1h30m or 2GB.")
        }
        guard duration >= .seconds(1) else {
            throw TextFailure("A segment of \(text) is too short; 1s is the least, 30m is usual.")
        }
        self = .duration(duration)
    }
}
