// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Media

/// A receiver that called a listening output: its session and what is to be said of it. One thread at a time.
struct SRTCaller {
    /// Its number in log and status, from 1 on.
    let number: Int
    let session: SRTSession
    /// Whether its queue was fed, so that it may be read.
    private var isOnAir = false
    /// Whether it waits for a keyframe, as of the last look.
    private(set) var awaitsKeyframe = false
    /// What is told of its queue's drops.
    private var drops = DropLog()

    init(number: Int, session: SRTSession) {
        self.number = number
        self.session = session
    }

    /// What it waits for is in its queue: lets it be sent. Returns whether a keyframe is waited for from now on.
    ///
    /// The queue of a new caller is not read before: what it holds by then is a backlog, which would be taken for
    /// congestion if it were pushed into a queue that is on air.
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

    /// Looks at what its queue dropped, at `now` (monotonic nanoseconds). Returns what is to be told.
    mutating func noteDrops(at now: Int64) -> String? {
        drops.note(session.packets.drops, at: now).map(text)
    }

    /// Its session is over, for this reason: counts what was not sent to it. Returns what is to be told; `others` are on
    /// air still.
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
