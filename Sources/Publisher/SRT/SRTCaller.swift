// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Media

/// A receiver that connected to a listening output: its session and its log. Only one thread may use it at a time.
struct SRTCaller {
    /// The receiver's number in log and status, counted from 1.
    let number: Int
    let session: SRTSession
    /// Whether packets were added to its queue, so that the queue may be read.
    private var isOnAir = false
    /// Whether its queue waited for a keyframe at the last check.
    private(set) var awaitsKeyframe = false
    /// The log of the drops in its queue.
    private var drops = DropLog()

    init(number: Int, session: SRTSession) {
        self.number = number
        self.session = session
    }

    /// Sends the packets in its queue. Returns whether the queue now waits for a keyframe.
    ///
    /// The queue of a new caller is read only when it contains the backlog: if the queue were already on air, the
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

    /// Checks at `now` (monotonic nanoseconds) which packets its queue dropped. Returns a message for the log.
    mutating func noteDrops(at now: Int64) -> String? { drops.note(session.packets.drops, at: now).map(text) }

    /// Ends its session for the reason `ending`, and counts the packets that were not sent. Returns messages for the
    /// log; `others` is the number of callers that are still on air.
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
