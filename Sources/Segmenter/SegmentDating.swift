// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Media

/// When each file began by the wall clock. Program time says it exactly as long as both clocks agree; a program that
/// stalls, or a wall clock that is set, moves them apart.
struct SegmentDating {
    /// Wall-clock milliseconds at program time 0.
    private var programStart: Int64?
    /// By how much the recorder is behind the program in general: the encoder's delay, and what it was told of the
    /// program's start.
    private var delay: Int64?
    private var last = Int64.min
    private var wasReported = false

    /// More than this apart, in milliseconds, and the clocks no longer agree.
    private static let tolerance: Int64 = 2000
    /// So many milliseconds before the last date, and the wall clock was set back. A program that no clock paces is
    /// ahead of it by what is tolerated, and names are to stay in order then.
    private static let setBack: Int64 = 60_000

    /// How long packets are under way before they come.
    private let encoderDelay: Duration
    /// Where the first of several recorders says when the program's time 0 was.
    private let epoch: ProgramEpoch?

    /// The program's time 0 was at `programStart`, if that is known; else it is computed from the arrival of the first
    /// packet, `encoderDelay` after its time.
    init(programStart: UTCTime?, encoderDelay: Duration = .zero, epoch: ProgramEpoch? = nil) {
        self.programStart = programStart?.milliseconds
        self.epoch = epoch
        self.encoderDelay = encoderDelay
    }

    /// Takes the first packet in, which arrives `now`.
    mutating func begin(_ packet: EncodedPacket, now: @autoclosure () -> UTCTime) {
        guard programStart == nil else { return }
        begin(at: encoderDelay.inNanoseconds + packet.ptsNanoseconds, now: now())
    }

    /// Sets the program's time to `time`, in nanoseconds, at `now`, unless it was set before.
    mutating func begin(at time: Int64, now: UTCTime) {
        guard programStart == nil else { return }
        let own = now.milliseconds - time / 1_000_000
        programStart = epoch?.decided(own) ?? own
    }

    /// When program time `time` (nanoseconds) was on air, as far as is known.
    func time(of time: Int64) -> UTCTime { UTCTime(milliseconds: (programStart ?? 0) + time / 1_000_000) }

    /// By how many milliseconds the wall clock and the program have come apart; 0 while that is tolerable.
    private mutating func shift(at programTime: Int64, _ now: UTCTime, _ queued: Int64) -> Int64 {
        let late = now.milliseconds - queued - time(of: programTime).milliseconds
        let delay = self.delay ?? late
        self.delay = delay
        return abs(late - delay) > Self.tolerance ? late - delay : 0
    }

    /// When the program's time was 0, in milliseconds of the wall clock, computed as in ``date(_:now:queued:)``.
    mutating func programStart(at keyframe: EncodedPacket, now: UTCTime, queued: Int64) -> Int64 {
        (programStart ?? 0) + shift(at: keyframe.ptsNanoseconds, now, queued)
    }

    /// When the file whose first frame is `keyframe` began, computed `now` and after the frame waited `queued`
    /// milliseconds; and, the first time, by how many milliseconds the dates had to be moved. Before the last one only
    /// if the wall clock was set back by much: one that was ahead by years would date all that follows with one time.
    /// Which file came first its number says.
    mutating func date(_ keyframe: EncodedPacket, now: UTCTime, queued: Int64) -> (start: UTCTime, moved: Int64?) {
        date(at: keyframe.ptsNanoseconds, now: now, queued: queued)
    }

    /// The same of the file whose first frame is shown at program time `begin`, in nanoseconds.
    mutating func date(at begin: Int64, now: UTCTime, queued: Int64) -> (start: UTCTime, moved: Int64?) {
        let shift = shift(at: begin, now, queued)
        programStart = (programStart ?? 0) + shift
        let time = time(of: begin).milliseconds
        last = shift < 0 && last > time + Self.setBack ? time : max(last, time)
        let isNews = shift != 0 && !wasReported
        wasReported = wasReported || isNews
        return (UTCTime(milliseconds: last), isNews ? shift : nil)
    }
}
