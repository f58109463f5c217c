// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Logging
internal import Media
internal import Synchronization

/// Counts the parts of the program that are missing in the recording.
extension RecorderEngine {
    func lose(_ packet: EncodedPacket) {
        guard packet.track == leading, let gap else { return }
        if packet.track == .video { self.gap?.frames += 1 }
        // Frames arrive in decoding order: a later frame may have an earlier presentation time.
        self.gap?.from = min(gap.from, packet.ptsNanoseconds)
    }

    func beginGap(_ reason: String, _ cause: RecordingGap.Cause) {
        guard gap == nil else { return }
        gap = RecordingGap(
            from: recordedEnd ?? max(0, lastEnd), to: nil, reason: reason, cause: cause, frames: 0, run: run)
    }

    /// Ends the file because packets have stopped arriving, at a frame up to which no frames are missing in
    /// presentation order.
    func interrupt(_ reason: String, _ cause: RecordingGap.Cause, ending: SegmentEnding) {
        let dropped = file?.dropDisordered() ?? []
        endFile(ending)
        beginGap(reason, cause)
        for packet in dropped { lose(packet) }
        perform(cutter.interrupt())
    }

    func endGap(at time: Int64) {
        guard var ended = gap else { return }
        ended.to = time
        gap = nil
        logger.warning(
            "gap in the recording: \(ended.amount), \(ended.reason)",
            metadata: ["from_ns": "\(ended.from)", "to_ns": "\(time)"])
        environment.status.value.withLock { status in
            show(0, &status)
            status.count(ended)
        }
        let (channel, start) = (environment.configuration.channel, dating.time(of: ended.from))
        for observer in environment.configuration.observers {
            observer.gapEnded(ended, channel: channel, start: start)
        }
    }

    /// Records that the program up to program time `time` will never arrive.
    func miss(until time: Int64, because reason: String) { missing = (reason, time) }

    func addGap(_ reason: String, until end: Int64) {
        beginGap(reason, .failure)
        guard let from = gap?.from, from < end else { return gap = nil }
        let base = description.video?.nominalRate?.timeBase
        gap?.frames = base.map { Int(TimeBase.nanoseconds.rescale(end - from, to: $0)) } ?? 0
        lastEnd = max(lastEnd, end)
    }
}
