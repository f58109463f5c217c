// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Media
internal import Synchronization

/// Dates the start of each file by the wall clock. While program time and wall clock agree, program time gives the
/// exact date. If a program stalls, or the wall clock is set, they drift apart.
struct SegmentDating {
    /// Wall-clock time of program time 0, in milliseconds.
    private var programStart: Int64?
    /// By how much the recorder is normally behind the program, in milliseconds: the encoder's delay, and the error of
    /// the given program start.
    private var delay: Int64?
    private var last = Int64.min
    private var wasReported = false

    /// The clocks disagree if they are further apart than this, in milliseconds.
    private static let tolerance: Int64 = 2000
    /// If a date is earlier than the last one by more than this, in milliseconds, the wall clock was set back. A
    /// program that no clock paces can be ahead of the wall clock within the tolerance, and its file names must stay in
    /// order.
    private static let setBack: Int64 = 60_000

    /// How long after its program time a packet arrives.
    private let encoderDelay: Duration
    /// The shared start time of several recorders.
    private let epoch: ProgramEpoch?

    /// `programStart` is when program time 0 was, if that is known; otherwise it is computed from the arrival of the
    /// first packet, which is `encoderDelay` after its program time.
    init(programStart: UTCTime?, encoderDelay: Duration = .zero, epoch: ProgramEpoch? = nil) {
        self.programStart = programStart?.milliseconds
        self.epoch = epoch
        self.encoderDelay = encoderDelay
    }

    /// Handles the first packet, which arrives at `now`.
    mutating func begin(_ packet: EncodedPacket, now: @autoclosure () -> UTCTime) {
        guard programStart == nil else { return }
        begin(at: encoderDelay.inNanoseconds + packet.ptsNanoseconds, now: now())
    }

    /// Records that program time `time`, in nanoseconds, is `now`, unless the start was set before.
    mutating func begin(at time: Int64, now: UTCTime) {
        guard programStart == nil else { return }
        let own = now.milliseconds - time / 1_000_000
        programStart = epoch?.decided(own) ?? own
    }

    /// Returns when program time `time` (nanoseconds) was on air, according to what is known so far.
    func time(of time: Int64) -> UTCTime { UTCTime(milliseconds: (programStart ?? 0) + time / 1_000_000) }

    /// By how many milliseconds the wall clock and the program have drifted apart; 0 within the tolerance.
    private mutating func shift(at programTime: Int64, _ now: UTCTime, _ queued: Int64) -> Int64 {
        let late = now.milliseconds - queued - time(of: programTime).milliseconds
        let delay = self.delay ?? late
        self.delay = delay
        return abs(late - delay) > Self.tolerance ? late - delay : 0
    }

    /// Returns the wall-clock time of program time 0, in milliseconds, computed as in ``date(_:now:queued:)``.
    mutating func programStart(at keyframe: EncodedPacket, now: UTCTime, queued: Int64) -> Int64 {
        (programStart ?? 0) + shift(at: keyframe.ptsNanoseconds, now, queued)
    }

    /// Returns when the file that begins with `keyframe` began. The date is computed at `now`, after the frame waited
    /// `queued` milliseconds. `moved` is by how many milliseconds the dates had to be corrected, and is returned only
    /// the first time. A date becomes earlier than the last one only if the wall clock was set back by much: without
    /// this exception, all later files would have the same date if the clock was once years ahead. The sequence numbers
    /// keep the order of files.
    mutating func date(_ keyframe: EncodedPacket, now: UTCTime, queued: Int64) -> (start: UTCTime, moved: Int64?) {
        date(at: keyframe.ptsNanoseconds, now: now, queued: queued)
    }

    /// Does the same for a file whose first visible frame is at program time `begin`, in nanoseconds.
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

/// The wall-clock time of program time 0, for several recorders of one program that name their files by the same time.
/// The first recorder sets it. May be used on any thread.
package final class ProgramEpoch: Sendable {
    private let milliseconds = Mutex<Int64?>(nil)

    /// An epoch that is not set yet.
    package init() {}

    /// Returns the value that was set first, in milliseconds since 1970; sets it to `own` if it was not set before.
    func decided(_ own: Int64) -> Int64 {
        milliseconds.withLock { known in
            let decided = known ?? own
            known = decided
            return decided
        }
    }
}
