// SPDX-License-Identifier: Apache-2.0

/// Decides whether more media may be passed to libsrt on one connection, and what to do while it may not. Pure.
///
/// libsrt sends a packet again only when the receiver reports it missing, and a receiver notices that only when a later
/// packet comes. So if the newest packets are lost, the two sides wait for each other until something is sent. As no
/// media is sent while the oldest packet is too old, a *probe* is sent instead: a message that decoders ignore. The
/// receiver then reports the missing packets, libsrt sends them again, and the window opens.
///
/// Times are microseconds of libsrt's clock; ages and latencies are milliseconds.
struct SRTSendWindow {
    /// The decision at this moment.
    enum Verdict: Equatable {
        /// Media may be sent.
        case open
        /// Media may be sent again, beginning with a keyframe. The window was shut for `after` microseconds; in this
        /// time the queue was on hold, or the receiver lost packets for good.
        case reopened(after: Int64)
        /// No media may be sent. `beginsHold` is true once: from then on, the queue needs to keep only the newest GOP.
        case shut(beginsHold: Bool)
        /// The receiver has acknowledged nothing for too long: the connection is useless.
        case over
    }

    /// If a receiver takes nothing for this long, in microseconds, the packets that it missed are not sent later.
    static let stall: Int64 = 1_000_000
    /// The time in milliseconds after which libsrt ends a connection to a silent peer (`SRTO_PEERIDLETIMEO`), unless
    /// the address specifies it.
    static let silence: Int64 = 5000
    /// The maximum time between two probes, in microseconds: a fraction of the 2 s within which a stream continues
    /// after an outage.
    private static let longestInterval: Int64 = 500_000

    /// How long the receiver buffers, in milliseconds.
    private let latency: Int64
    /// The age at which libsrt drops messages when a message is added, in milliseconds; nil if it drops none.
    private let dropAge: Int64?
    /// How long the receiver may acknowledge nothing, in microseconds.
    let patience: Int64

    /// When the window was shut; nil while it is open.
    private(set) var shutSince: Int64?
    /// Whether the queue holds only the newest GOP.
    private(set) var isHolding = false
    private var lossesBefore: Int64 = 0
    /// The maximum age of the oldest message since the window was shut, and the time of the last check.
    private var (worst, last): (Int64, Int64) = (0, 0)
    /// The time of the last acknowledgement since the window was shut, and the time at which the message was sent that
    /// was the oldest then.
    private var (progress, oldest): (Int64, Int64) = (0, 0)
    /// When the last message was sent, including probes.
    private var lastMessage: Int64 = 0

    /// A window for a receiver with this `latency`. `silence` is the value of `peeridletimeo` in the address, if there
    /// is one.
    init(latency: Int64, dropAge: Int64? = nil, silence: Int64? = nil) {
        (self.latency, self.dropAge) = (latency, dropAge)
        patience = ((silence ?? Self.silence) + latency) * 1000
    }

    /// Returns the maximum age of the oldest message at which more media may be passed on; above it, the queue's policy
    /// decides what to drop. It is half the latency, but enough for the round trip of an acknowledgement, and always
    /// less than the age at which libsrt drops messages in mid-GOP.
    func maximumAge(roundTrip: Double) -> Int64 {
        let wanted = max(latency / 2, Int64(roundTrip * 1.5) + 60)
        return dropAge.map { min(wanted, $0 - 100) } ?? wanted
    }

    /// Checks at `now` the `age` of the oldest unacknowledged message, which is nil if all are acknowledged. `losses`
    /// is the number of loss reports, and of packets that libsrt dropped, since the connection began.
    mutating func look(age: Int64?, roundTrip: Double, losses: @autoclosure () -> Int64, at now: Int64) -> Verdict {
        guard let age, age > maximumAge(roundTrip: roundTrip) else { return open(losses, at: now) }
        let first = now - age * 1000
        guard let since = shutSince else {
            (shutSince, lossesBefore, worst, last) = (now, losses(), age, now)
            (progress, oldest) = (now, first)
            return .shut(beginsHold: false)
        }
        (worst, last) = (max(worst, age), now)
        // Above libsrt's drop age, the oldest message may have been dropped without an acknowledgement. The margin is
        // for rounding.
        if dropAge.map({ worst < $0 }) ?? true, first > oldest + 2000 { (progress, oldest) = (now, first) }
        guard now - progress <= patience else { return .over }
        guard !isHolding, now - since > Self.stall else { return .shut(beginsHold: false) }
        isHolding = true
        return .shut(beginsHold: true)
    }

    private mutating func open(_ losses: () -> Int64, at now: Int64) -> Verdict {
        guard let since = shutSince else { return .open }
        // The oldest message has become older since the last check. If it is older than the latency, the receiver may
        // have stopped waiting for it, and the receiver's report may be lost. If only this process paused, everything
        // is acknowledged at once.
        let isLate = worst + (now - last) / 1000 >= latency
        let hasLost = isLate && (losses() > lossesBefore || now - since >= latency * 500)
        defer { (shutSince, isHolding) = (nil, false) }
        return isHolding || hasLost ? .reopened(after: now - since) : .open
    }
}

// MARK: Probes

extension SRTSendWindow {
    /// Records that a message was sent at `now`, which may be a probe.
    mutating func handedOver(at now: Int64) { lastMessage = now }

    /// Whether a probe must be sent at `now`, if a message is unacknowledged.
    func isProbeDue(roundTrip: Double, at now: Int64) -> Bool {
        now - lastMessage >= probeInterval(roundTrip: roundTrip, at: now)
    }

    /// Returns how long after the last message a probe must be sent. This is longer than an acknowledgement takes,
    /// which the receiver sends every 10 ms. It increases while the window is shut, because a slow path must not be
    /// filled with probes.
    func probeInterval(roundTrip: Double, at now: Int64) -> Int64 {
        let usual = 30_000 + Int64(roundTrip * 1500)
        guard let since = shutSince else { return usual }
        return max(usual, min(Self.longestInterval, (now - since) / 8))
    }
}
