// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Media

/// When a file is long enough: by time, in absolute multiples from the recording's start or of the wall clock, by size,
/// or because somebody says so.
struct SegmentSchedule {
    /// The program time at which the present file is to end; nil for a limit in bytes.
    private(set) var boundary: Timestamp?
    /// By the wall clock, when the program's time was 0. Read when a file begins, and only then: a clock that is set moves
    /// the next boundary, once.
    var programStart = UTCTime(milliseconds: 0)

    private let length: SegmentLength
    private let frameRate: FrameRate
    private let grid: WallClockGrid?
    /// The recording's first frame.
    private var origin: FrameIndex?
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

    init(length: SegmentLength, frameRate: FrameRate, grid: WallClockGrid? = nil) {
        self.length = length
        self.frameRate = frameRate
        self.grid = grid
    }

    /// The program's frame that is nearest to the frame's presentation time.
    private func frame(_ packet: EncodedPacket) -> FrameIndex {
        FrameIndex(packet.timeBase.rescale(packet.pts, to: frameRate.timeBase, rounding: .nearest))
    }

    /// The first frame of file `number` of those of full length: the first at or after its exact time.
    private func boundaryFrame(_ number: Int64, _ duration: Duration, _ origin: FrameIndex) -> FrameIndex {
        let (time, overflow) = duration.inNanoseconds.multipliedReportingOverflow(by: number)
        guard !overflow else { return FrameIndex(.max) }
        return FrameIndex(
            origin.number &+ TimeBase.nanoseconds.rescale(time, to: frameRate.timeBase, rounding: .up))
    }

    private func start(of frame: FrameIndex) -> Timestamp { frameRate.start(of: frame, rounding: .down) }

    /// The first boundary behind `frame`, as a frame.
    private func boundaryFrame(after frame: FrameIndex, _ duration: Duration, _ origin: FrameIndex) -> FrameIndex {
        if let grid {
            let passed = min(Self.nearest, duration / 10).inNanoseconds / 1_000_000
            let now = UTCTime(
                milliseconds: programStart.milliseconds + start(of: frame).nanoseconds / 1_000_000 + passed)
            let wait = Duration.milliseconds(grid.next(after: now).milliseconds - programStart.milliseconds)
            return max(frame + 1, frameRate.frame(at: .zero + wait, rounding: .up))
        }
        let elapsed = start(of: FrameIndex(frame - origin)).nanoseconds
        var number = max(1, elapsed / max(1, duration.inNanoseconds))
        while boundaryFrame(number, duration, origin) <= frame { number += 1 }
        return boundaryFrame(number, duration, origin)
    }

    /// A file begins with `keyframe`; returns the program times at which keyframes are to be asked for.
    mutating func begin(at keyframe: EncodedPacket) -> [Timestamp] {
        (bytes, groupBytes, isCutRequested) = (0, 0, false)
        guard case .duration(let duration) = length else { return [] }
        let frame = frame(keyframe)
        let origin = self.origin ?? frame
        self.origin = origin
        let now = Timestamp(nanoseconds: keyframe.ptsNanoseconds)
        requested.removeAll { $0 < now }
        var next = boundaryFrame(after: frame, duration, origin)
        boundary = start(of: next)
        var times: [Timestamp] = []
        // The boundary of this very file is asked for however far it is.
        repeat {
            let time = start(of: next)
            if !requested.contains(time) { times.append(time) }
            next = boundaryFrame(after: next, duration, origin)
        } while start(of: next) < now + Self.lead
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
            return start(of: frame(keyframe)) >= boundary
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
