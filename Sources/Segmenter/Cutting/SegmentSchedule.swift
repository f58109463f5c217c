// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Media

/// When a file is long enough: by time, in absolute multiples from the recording's start or of the wall clock, by size,
/// or because somebody says so.
struct SegmentSchedule {
    /// The program time at which the present file is to end; nil for a limit in bytes.
    var boundary: Timestamp? { [ownBoundary, cuts.first].compactMap(\.self).min() }
    /// By the wall clock, when the program's time was 0. Read when a file begins, and only then: a clock that is set moves
    /// the next boundary, once.
    var programStart = UTCTime(milliseconds: 0)

    /// Nil where somebody else says at which times files end.
    private let length: SegmentLength?
    /// The same by ``length``.
    private var ownBoundary: Timestamp?
    /// Program times to come at which files end besides, in their order.
    private var cuts: [Timestamp] = []
    private let grid: WallClockGrid?
    /// The recording's first frame.
    private var origin: Timestamp?
    /// Program times to come that were asked for.
    private var requested: [Timestamp] = []
    private var bytes: Int64 = 0
    private var groupBytes: Int64 = 0
    private var largestGroup: Int64 = 0
    private var isCutRequested = false

    /// Boundaries are asked for this long before they come, because an encoder looks ahead: a request that comes when
    /// the encoder has the frame already is of no use.
    private static let lead = Duration.seconds(5)
    /// A moment of the wall clock this close is passed over: the clock was put back a little.
    private static let nearest = Duration.seconds(2)

    /// More than this are those of a time in which nothing was recorded: the oldest are forgotten.
    private static let mostCuts = 64

    init(length: SegmentLength?, grid: WallClockGrid? = nil) {
        self.length = length
        self.grid = grid
    }

    /// The end of file `number` of those of full length.
    private func boundary(_ number: Int64, _ duration: Duration, _ origin: Timestamp) -> Timestamp {
        let (time, overflow) = duration.inNanoseconds.multipliedReportingOverflow(by: number)
        let (end, isLate) = origin.nanoseconds.addingReportingOverflow(time)
        return Timestamp(nanoseconds: overflow || isLate ? .max : end)
    }

    /// The first boundary behind `time`.
    private func boundary(after time: Timestamp, _ duration: Duration, _ origin: Timestamp) -> Timestamp {
        if let grid {
            let passed = min(Self.nearest, duration / 10).inNanoseconds / 1_000_000
            let now = UTCTime(milliseconds: programStart.milliseconds + time.nanoseconds / 1_000_000 + passed)
            let wait = Duration.milliseconds(grid.next(after: now).milliseconds - programStart.milliseconds)
            return max(time + .nanoseconds(1), .zero + wait)
        }
        var number = max(1, (time - origin).inNanoseconds / max(1, duration.inNanoseconds))
        while boundary(number, duration, origin) <= time { number += 1 }
        return boundary(number, duration, origin)
    }

    /// When the frame is shown, at the latest: where a track's clock is finer than its frames, times were rounded to it.
    private func latest(_ keyframe: EncodedPacket) -> Timestamp {
        let tick = keyframe.duration > 1 ? keyframe.timeBase.duration(1) : .zero
        return Timestamp(nanoseconds: keyframe.ptsNanoseconds) + tick
    }

    /// A file begins with `keyframe`; returns the program times at which keyframes are to be asked for.
    mutating func begin(at keyframe: EncodedPacket) -> [Timestamp] {
        (bytes, groupBytes, isCutRequested) = (0, 0, false)
        let shown = latest(keyframe)
        cuts.removeAll { $0 <= shown }
        guard case .duration(let duration) = length else { return [] }
        let origin = self.origin ?? Timestamp(nanoseconds: keyframe.ptsNanoseconds)
        self.origin = origin
        let now = Timestamp(nanoseconds: keyframe.ptsNanoseconds)
        requested.removeAll { $0 < now }
        var next = boundary(after: latest(keyframe), duration, origin)
        ownBoundary = next
        var times: [Timestamp] = []
        // The boundary of this very file is asked for however far it is.
        repeat {
            if !requested.contains(next) { times.append(next) }
            next = boundary(after: next, duration, origin)
        } while next < now + Self.lead
        requested += times
        return times
    }

    /// The file ends with the next keyframe.
    mutating func requestCut() { isCutRequested = true }

    /// The file ends with the first keyframe of `time` or later.
    mutating func requestCut(at time: Timestamp) {
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

    /// Counts what went to the file; says whether a keyframe is needed now because the next group would not fit.
    /// `beginsGroup` says that the file can be cut in front of it.
    mutating func wrote(_ count: Int64, beginsGroup: Bool) -> Bool {
        bytes += count
        if beginsGroup {
            // The largest recent one, slowly forgotten, so that one busy minute does not shorten all later files.
            largestGroup = max(groupBytes, largestGroup - largestGroup / 8)
            groupBytes = 0
        }
        groupBytes += count
        guard case .bytes(let limit) = length, !isCutRequested, isNearLimit(limit) else { return false }
        isCutRequested = true
        return true
    }
}
