// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Media
internal import Synchronization

/// Dates the start of each file by the wall clock. While program time and wall clock agree, the program time gives the
/// exact date. They drift apart if the program stalls or the wall clock is set.
struct SegmentDating {
    /// Wall-clock time of program time 0, in milliseconds.
    private var programStart: Int64?
    /// The normal delay of the recorder behind the program, in milliseconds. It consists of the encoder's delay and of
    /// the error in the given program start.
    private var delay: Int64?
    private var last = Int64.min
    private var wasReported = false

    /// The maximum difference, in milliseconds, at which program time and wall clock still agree.
    private static let tolerance: Int64 = 2000
    /// If a date is earlier than the previous one by more than this, in milliseconds, the wall clock was set back. A
    /// smaller step back can have another cause: a program that no clock paces can be ahead of the wall clock within
    /// the tolerance. The names of such a program's files must stay in order.
    private static let setBack: Int64 = 60_000

    /// The time between a packet's program time and its arrival at the recorder.
    private let encoderDelay: Duration
    /// The start time that several recorders share; nil for a single recorder.
    private let epoch: ProgramEpoch?

    /// Creates the dating of a recorder's files. `programStart` is the wall-clock time of program time 0. If it is nil,
    /// it is computed from the arrival of the first packet, which comes `encoderDelay` after the packet's program time.
    init(programStart: UTCTime?, encoderDelay: Duration = .zero, epoch: ProgramEpoch? = nil) {
        self.programStart = programStart?.milliseconds
        self.epoch = epoch
        self.encoderDelay = encoderDelay
    }

    /// Computes the program start from the first packet, which arrives at `now`, unless the program start is known
    /// already.
    mutating func begin(_ packet: EncodedPacket, now: @autoclosure () -> UTCTime) {
        guard programStart == nil else { return }
        begin(at: packet.programPts + encoderDelay, now: now())
    }

    /// Records that program time `time` is `now`, unless the program start is known already.
    mutating func begin(at time: ProgramInstant, now: UTCTime) {
        guard programStart == nil else { return }
        let own = now.milliseconds - time.nanoseconds / 1_000_000
        programStart = epoch?.decided(own) ?? own
    }

    /// Returns when program time `time` was on air, by the program start that is known so far.
    func time(of time: ProgramInstant) -> UTCTime {
        UTCTime(milliseconds: (programStart ?? 0) + time.nanoseconds / 1_000_000)
    }

    /// Returns by how many milliseconds wall clock and program have drifted apart; 0 within the tolerance.
    private mutating func shift(at programTime: ProgramInstant, _ now: UTCTime, _ queued: Int64) -> Int64 {
        let late = now.milliseconds - queued - time(of: programTime).milliseconds
        let delay = self.delay ?? late
        self.delay = delay
        return abs(late - delay) > Self.tolerance ? late - delay : 0
    }

    /// Returns the wall-clock time of program time 0, in milliseconds, computed as in ``date(_:now:queued:)``.
    mutating func programStart(at keyframe: EncodedPacket, now: UTCTime, queued: Int64) -> Int64 {
        (programStart ?? 0) + shift(at: keyframe.programPts, now, queued)
    }

    /// Returns when the file that begins with `keyframe` began. `now` is the present time, and `queued` is how many
    /// milliseconds the frame has waited in the queue. `moved` is the correction of the dates in milliseconds; it is
    /// returned only the first time.
    ///
    /// Dates normally never go back. There is one exception: if the wall clock was set back by much, a date becomes
    /// earlier than the previous one. Without this exception, all later files would have the same date after the clock
    /// was once years ahead. The sequence numbers keep the order of the files.
    mutating func date(_ keyframe: EncodedPacket, now: UTCTime, queued: Int64) -> (start: UTCTime, moved: Int64?) {
        date(at: keyframe.programPts, now: now, queued: queued)
    }

    /// Returns what ``date(_:now:queued:)`` returns, for a file whose first visible frame is at program time `begin`.
    mutating func date(at begin: ProgramInstant, now: UTCTime, queued: Int64) -> (start: UTCTime, moved: Int64?) {
        let shift = shift(at: begin, now, queued)
        programStart = (programStart ?? 0) + shift
        let time = time(of: begin).milliseconds
        last = shift < 0 && last > time + Self.setBack ? time : max(last, time)
        let isNews = shift != 0 && !wasReported
        wasReported = wasReported || isNews
        return (UTCTime(milliseconds: last), isNews ? shift : nil)
    }
}

/// The wall-clock time of program time 0. Several recorders of one program share it, so that they name their files by
/// the same time. The first recorder sets it. May be used on any thread.
package final class ProgramEpoch: Sendable {
    private let milliseconds = Mutex<Int64?>(nil)

    /// Creates an epoch that is not set yet.
    package init() {}

    /// Returns the value that was set first, in milliseconds since 1970. Sets the value to `own` if none was set
    /// before.
    func decided(_ own: Int64) -> Int64 {
        milliseconds.withLock { known in
            let decided = known ?? own
            known = decided
            return decided
        }
    }
}
