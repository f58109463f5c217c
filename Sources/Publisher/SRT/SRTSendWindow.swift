// SPDX-License-Identifier: Apache-2.0

/// Decides whether more media may be passed to libsrt on one connection. While no more may be passed, the window is
/// *shut*, and this value decides what to do instead. It does no I/O.
///
/// A receiver notices that a packet is missing only when a later packet arrives. libsrt sends a packet again only when
/// the receiver reports it missing. So if the newest packets are lost, nothing happens until another packet is sent.
/// While the oldest unacknowledged packet is too old, no media is sent. A *probe* is sent instead, which is a message
/// that decoders ignore. The receiver then reports the missing packets, libsrt sends them again, and the window opens.
///
/// Times are microseconds of libsrt's clock. Ages and latencies are milliseconds.
struct SRTSendWindow {
    /// What may be sent now.
    enum Verdict: Equatable {
        /// Media may be sent.
        case open
        /// Media may be sent again, beginning with a keyframe. The window was shut for `after` microseconds. During
        /// that time the queue kept only its newest GOP, or the receiver lost packets that are not sent again.
        case reopened(after: Int64)
        /// No media may be sent. `beginsHold` is true only once while the window is shut: from then on, the queue needs
        /// to keep only the newest GOP.
        case shut(beginsHold: Bool)
        /// The receiver has not acknowledged anything for too long, so the connection counts as lost.
        case over
    }

    /// If no media may be sent for longer than this, in microseconds, the media that has waited is not sent any more.
    /// Sending then continues with a keyframe.
    static let stall: Int64 = 1_000_000
    /// The time in milliseconds after which libsrt ends a connection to a silent peer (`SRTO_PEERIDLETIMEO`), unless
    /// the address sets another value.
    static let silence: Int64 = 5000
    /// The maximum time between two probes, in microseconds. It is a fraction of the 2 s within which a stream must
    /// continue after an outage.
    private static let longestInterval: Int64 = 500_000

    /// The receiver's latency: for how long it buffers media, in milliseconds.
    private let latency: Int64
    /// The age at which libsrt drops old messages, in milliseconds. libsrt checks the age when a message is added. Nil
    /// if it never drops messages.
    private let dropAge: Int64?
    /// The maximum time without an acknowledgement before the connection counts as lost, in microseconds.
    let patience: Int64

    /// The time in microseconds since which no media may be sent (the window is shut); nil while media may be sent.
    private(set) var shutSince: Int64?
    /// Whether the queue has been told to keep only the newest GOP.
    private(set) var isHolding = false
    private var lossesBefore: Int64 = 0
    /// The highest age of the oldest unacknowledged message since the window was shut, in milliseconds, and the time of
    /// the last check, in microseconds.
    private var (worst, last): (Int64, Int64) = (0, 0)
    /// The time of the last acknowledgement since the window was shut, and the send time of the message that was the
    /// oldest unacknowledged one at that time. Both are in microseconds.
    private var (progress, oldest): (Int64, Int64) = (0, 0)
    /// When the last message or probe was sent, in microseconds.
    private var lastMessage: Int64 = 0

    /// Creates an open window for a receiver with this `latency`. `silence` is the value of `peeridletimeo` in the
    /// address; nil if the address does not set it.
    init(latency: Int64, dropAge: Int64? = nil, silence: Int64? = nil) {
        (self.latency, self.dropAge) = (latency, dropAge)
        patience = ((silence ?? Self.silence) + latency) * 1000
    }

    /// Returns the maximum age of the oldest unacknowledged message up to which more media may be sent. Above this age,
    /// the drop policy of the queue decides what is dropped. The age is half the latency, but at least long enough for
    /// an acknowledgement to arrive. It is always less than the age at which libsrt would drop messages in the middle
    /// of a GOP.
    func maximumAge(roundTrip: Double) -> Int64 {
        let wanted = max(latency / 2, Int64(roundTrip * 1.5) + 60)
        return dropAge.map { min(wanted, $0 - 100) } ?? wanted
    }

    /// Returns what may be sent at `now`. `age` is the age of the oldest unacknowledged message; nil if all are
    /// acknowledged. `losses` is the number of loss reports, plus the number of packets that libsrt dropped, since the
    /// connection began.
    mutating func look(age: Int64?, roundTrip: Double, losses: @autoclosure () -> Int64, at now: Int64) -> Verdict {
        guard let age, age > maximumAge(roundTrip: roundTrip) else { return open(losses, at: now) }
        let first = now - age * 1000
        guard let since = shutSince else {
            (shutSince, lossesBefore, worst, last) = (now, losses(), age, now)
            (progress, oldest) = (now, first)
            return .shut(beginsHold: false)
        }
        (worst, last) = (max(worst, age), now)
        // At ages above libsrt's drop age, the oldest message may have changed because libsrt dropped it, not because
        // it was acknowledged. The margin of 2 ms is for rounding.
        if dropAge.map({ worst < $0 }) ?? true, first > oldest + 2000 { (progress, oldest) = (now, first) }
        guard now - progress <= patience else { return .over }
        guard !isHolding, now - since > Self.stall else { return .shut(beginsHold: false) }
        isHolding = true
        return .shut(beginsHold: true)
    }

    private mutating func open(_ losses: () -> Int64, at now: Int64) -> Verdict {
        guard let since = shutSince else { return .open }
        // The age that the oldest message may have reached since the last check is compared with the receiver's
        // latency. Above the latency, the receiver may have stopped waiting for that message, and its loss report may
        // be lost. If only this process was paused, all messages are acknowledged at once when it continues.
        let isLate = worst + (now - last) / 1000 >= latency
        let hasLost = isLate && (losses() > lossesBefore || now - since >= latency * 500)
        defer { (shutSince, isHolding) = (nil, false) }
        return isHolding || hasLost ? .reopened(after: now - since) : .open
    }
}

// MARK: Sending probes

extension SRTSendWindow {
    /// Records that a message or a probe was sent at `now`.
    mutating func handedOver(at now: Int64) { lastMessage = now }

    /// Returns whether a probe must be sent at `now`. Call this only while a message is unacknowledged.
    func isProbeDue(roundTrip: Double, at now: Int64) -> Bool {
        now - lastMessage >= probeInterval(roundTrip: roundTrip, at: now)
    }

    /// Returns how long after the last message a probe must be sent, in microseconds. The time is longer than an
    /// acknowledgement takes; receivers send one every 10 ms. The time grows while no media may be sent, so that probes
    /// do not fill a slow path.
    func probeInterval(roundTrip: Double, at now: Int64) -> Int64 {
        let usual = 30_000 + Int64(roundTrip * 1500)
        guard let since = shutSince else { return usual }
        return max(usual, min(Self.longestInterval, (now - since) / 8))
    }
}
