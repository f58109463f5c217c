// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Media

/// When a file is long enough: by time, in absolute multiples from the recording's start or of the wall clock, by size,
/// or because somebody says so.
struct SegmentSchedule {
    /// The program time in nanoseconds at which the present file is to end; nil for a limit in bytes.
    private(set) var boundary: Int64?
    /// By the wall clock, in milliseconds since 1970, when the program's time was 0. Read when a file begins, and only
    /// then: a clock that is set moves the next boundary, once.
    var programStart: Int64 = 0

    private let length: SegmentLength
    private let frameRate: FrameRate
    private let grid: WallClockGrid?
    /// The recording's first frame, in frames of the program.
    private var origin: Int64?
    /// Program times to come that were asked for.
    private var requested: [Int64] = []
    private var bytes: Int64 = 0
    private var groupBytes: Int64 = 0
    private var largestGroup: Int64 = 0
    private var isCutRequested = false

    /// Boundaries are asked for this long before they come, because an encoder looks ahead: a request that comes when
    /// the encoder has the frame already is of no use.
    private static let lead: Int64 = 5_000_000_000
    /// A moment of the wall clock this close, in milliseconds, is passed over: the clock was put back a little.
    private static let nearest: Int64 = 2000

    init(length: SegmentLength, frameRate: FrameRate, grid: WallClockGrid? = nil) {
        self.length = length
        self.frameRate = frameRate
        self.grid = grid
    }

    /// The program's frame that is nearest to the frame's presentation time.
    private func frame(_ packet: EncodedPacket) -> Int64 {
        packet.timeBase.rescale(packet.pts, to: frameRate.timeBase, rounding: .nearest)
    }

    /// The first frame of file `number` of those of full length: the first at or after its exact time.
    private func boundaryFrame(_ number: Int64, _ duration: Duration, _ origin: Int64) -> Int64 {
        let (time, overflow) = duration.inNanoseconds.multipliedReportingOverflow(by: number)
        guard !overflow else { return .max }
        return origin &+ TimeBase.nanoseconds.rescale(time, to: frameRate.timeBase, rounding: .up)
    }

    private func nanoseconds(_ frame: Int64) -> Int64 {
        frameRate.timeBase.rescale(frame, to: .nanoseconds, rounding: .down)
    }

    /// The first boundary behind `frame`, as a frame.
    private func boundaryFrame(after frame: Int64, _ duration: Duration, _ origin: Int64) -> Int64 {
        if let grid {
            let passed = min(Self.nearest, duration.inNanoseconds / 10_000_000)
            let now = UTCTime(milliseconds: programStart + nanoseconds(frame) / 1_000_000 + passed)
            let time = (grid.next(after: now).milliseconds - programStart) * 1_000_000
            return max(frame + 1, TimeBase.nanoseconds.rescale(time, to: frameRate.timeBase, rounding: .up))
        }
        var number = max(1, nanoseconds(frame - origin) / max(1, duration.inNanoseconds))
        while boundaryFrame(number, duration, origin) <= frame { number += 1 }
        return boundaryFrame(number, duration, origin)
    }

    /// A file begins with `keyframe`; returns the program times at which keyframes are to be asked for.
    mutating func begin(at keyframe: EncodedPacket) -> [Int64] {
        (bytes, groupBytes, isCutRequested) = (0, 0, false)
        guard case .duration(let duration) = length else { return [] }
        let frame = frame(keyframe)
        let origin = self.origin ?? frame
        self.origin = origin
        requested.removeAll { $0 < keyframe.ptsNanoseconds }
        var next = boundaryFrame(after: frame, duration, origin)
        boundary = nanoseconds(next)
        var times: [Int64] = []
        // The boundary of this very file is asked for however far it is.
        repeat {
            let time = nanoseconds(next)
            if !requested.contains(time) { times.append(time) }
            next = boundaryFrame(after: next, duration, origin)
        } while nanoseconds(next) < keyframe.ptsNanoseconds + Self.lead
        requested += times
        return times
    }

    /// The file ends with the next keyframe.
    mutating func requestCut() { isCutRequested = true }

    /// Whether the file ends before `keyframe`.
    func isCut(_ keyframe: EncodedPacket) -> Bool {
        if isCutRequested { return true }
        switch length {
        case .duration:
            guard let boundary else { return false }
            // The boundary is a frame's time, rounded down; so is the frame's, in whatever time base it came.
            return nanoseconds(frame(keyframe)) >= boundary
        case .bytes(let limit):
            return isNearLimit(limit)
        }
    }

    private func isNearLimit(_ limit: Int64) -> Bool { bytes + max(largestGroup, groupBytes) >= limit }

    /// Counts what went to the file; says whether a keyframe is needed now because the next group would not fit.
    mutating func wrote(_ count: Int64, _ packet: EncodedPacket) -> Bool {
        bytes += count
        if packet.track == .video, packet.isKeyframe {
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
