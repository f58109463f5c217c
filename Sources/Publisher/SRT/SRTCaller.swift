// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Media

/// A receiver that has connected to a listening SRT output, with its session and its log of drops. Only one thread at a
/// time may use the value.
struct SRTCaller {
    /// The receiver's number in log and status. The first receiver has the number 1.
    let number: Int
    let session: SRTSession
    /// Whether packets were added to the receiver's queue since the receiver joined, so that the queue may be read.
    private var isOnAir = false
    /// Whether the receiver's queue was waiting for a keyframe at the last check.
    private(set) var awaitsKeyframe = false
    /// The log of packets that the receiver's queue has dropped.
    private var drops = DropLog()

    init(number: Int, session: SRTSession) {
        self.number = number
        self.session = session
    }

    /// Starts to send the packets in the receiver's queue. Returns whether the queue has begun to wait for a keyframe.
    ///
    /// The queue of a new receiver is first read after the backlog was added to it. If reading began earlier, the
    /// backlog would look like congestion.
    mutating func wake() -> Bool {
        if !isOnAir {
            _ = session.packets.connected()
            _ = drops.join(session.packets.drops)
            session.post { $0.start() }
            isOnAir = true
        }
        let needs = session.packets.needsKeyframe
        defer { awaitsKeyframe = needs }
        session.wake()
        return needs && !awaitsKeyframe
    }

    /// Checks which packets the receiver's queue has dropped until `now`. Returns a message for the log, if there is
    /// something to log.
    mutating func noteDrops(at now: MonotonicInstant) -> String? {
        drops.note(session.packets.drops, at: now).map(text)
    }

    /// Records that the receiver's session has ended with the result `ending`, and counts the packets that were not
    /// sent as dropped. Returns messages for the log. `others` is the number of receivers that remain on air.
    mutating func leave(_ ending: SRTSession.Ending, others: Int) -> [String] {
        var notices = drops.leave(session.packets.drops).map { [text($0)] } ?? []
        let before = session.packets.drops
        session.packets.discard()
        var rest = session.packets.drops.since(before)
        rest.add(session.progress.drops)
        if case .failed(let failure) = ending {
            let loss = rest.packets > 0 ? " without its last \(rest.packets) packets" : ""
            notices.append("receiver \(number) left (\(failure))\(loss); \(others) on air")
        }
        return notices
    }

    private func text(_ event: DropLog.Event) -> String {
        switch event {
        case .began(let drops):
            "receiver \(number) takes less than the program makes: frames are dropped (\(drops.summary))"
        case .over(let drops):
            "receiver \(number): no frame is dropped any more; \(drops.frames) were (\(drops.summary))"
        case .cut(let drops):
            "receiver \(number) left while frames were dropped; \(drops.frames) were (\(drops.summary))"
        }
    }
}
