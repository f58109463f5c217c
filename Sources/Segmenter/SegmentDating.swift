// SPDX-License-Identifier: Apache-2.0

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

    /// The program's time 0 was at `programStart`, if that is known.
    init(programStart: UTCTime?) { self.programStart = programStart?.milliseconds }

    /// Takes the first packet in, which arrives `now`.
    mutating func begin(_ packet: EncodedPacket, now: @autoclosure () -> UTCTime) {
        guard programStart == nil else { return }
        programStart = now().milliseconds - packet.ptsNanoseconds / 1_000_000
    }

    /// When program time `time` (nanoseconds) was on air, as far as is known.
    func time(of time: Int64) -> UTCTime { UTCTime(milliseconds: (programStart ?? 0) + time / 1_000_000) }

    /// When the file whose first picture is `keyframe` began, reckoned `now` and after the picture waited `queued`
    /// milliseconds; and, the first time, by how many milliseconds the dates had to be moved. Never before the last one.
    mutating func date(_ keyframe: EncodedPacket, now: UTCTime, queued: Int64) -> (start: UTCTime, moved: Int64?) {
        let expected = (programStart ?? 0) + keyframe.ptsNanoseconds / 1_000_000
        let late = now.milliseconds - queued - expected
        let delay = self.delay ?? late
        self.delay = delay
        var shift: Int64 = 0
        if abs(late - delay) > Self.tolerance { shift = late - delay }
        programStart = (programStart ?? 0) + shift
        last = max(last, expected + shift)
        let isNews = shift != 0 && !wasReported
        wasReported = wasReported || isNews
        return (UTCTime(milliseconds: last), isNews ? shift : nil)
    }
}
