// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Media

/// A receiver that called a listening output: its session and its log. Only one thread may use it at a time.
struct SRTCaller {
    /// Its number in log and status, counted from 1.
    let number: Int
    let session: SRTSession
    /// Whether its queue was filled, so that it may be read.
    private var isOnAir = false
    /// Whether it waited for a keyframe at the last check.
    private(set) var awaitsKeyframe = false
    /// The log of its queue's drops.
    private var drops = DropLog()

    init(number: Int, session: SRTSession) {
        self.number = number
        self.session = session
    }

    /// Sends what is in its queue. Returns whether it now waits for a keyframe.
    ///
    /// The queue of a new caller is not read before: by then it contains a backlog, which would look like congestion if
    /// it were pushed into a queue that is on air.
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

    /// Checks what its queue dropped, at `now` (monotonic nanoseconds). Returns a message for the log.
    mutating func noteDrops(at now: Int64) -> String? { drops.note(session.packets.drops, at: now).map(text) }

    /// Ends its session for the reason `ending`: counts the packets that were not sent. Returns messages for the log;
    /// `others` are still on air.
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
