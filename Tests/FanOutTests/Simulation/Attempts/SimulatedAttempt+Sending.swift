// SPDX-License-Identifier: Apache-2.0

import FanOut
import Media

@testable import Publisher

// How an attempt sends on each kind of wire.
extension SimulatedAttempt {
    private static let batchBytes = 16_000
    private static let retryInterval = Duration.milliseconds(10)
    /// The number of messages between two checks of the send window, for an attempt that sends lost messages again.
    private static let messagesPerLook = 16

    /// Sends on a connection like RTMP, as long as its socket has room.
    func pump() {
        let now = clock.now
        while isSending {
            while let packet = sender.first {
                guard sender.write(on: connection, to: peer, at: now) else {
                    sender.isFull = true
                    return
                }
                sent(packet)
            }
            sender.hold(take(Self.batchBytes), at: now)
            sender.isFull = false
            if sender.first == nil { return }
        }
    }
}

// MARK: Datagrams

extension SimulatedAttempt {
    /// Handles a new frame, as ``UDPAttempt`` does: the rest of the last frame goes out now, and the new frame is
    /// spread over its duration.
    func serveDatagrams() {
        let now = clock.now
        let frame = Duration.nanoseconds(sender.spacing.interval)
        if sender.datagrams > 0, frame > .zero, now - sender.paced >= frame {
            fault("the next frame comes before the datagrams of a frame are sent")
        }
        send(datagrams: sender.datagrams)
        sender.hold(take(.max), at: now)
        for packet in sender.held where packet.track == .video { sender.spacing.note(packet) }
        if phase == .draining { return send(datagrams: sender.datagrams) }
        sender.paced = now
        sender.pacing.begin(count: sender.datagrams, at: now, frame: sender.spacing.interval)
        sendDue()
    }

    private func send(datagrams count: Int) {
        for _ in 0..<count {
            if let packet = sender.sendDatagram(to: peer, at: clock.now) { sent(packet) }
        }
        sender.pacing.note(sent: count)
    }

    private func sendDue() {
        guard phase == .live else { return }
        send(datagrams: min(sender.datagrams, sender.pacing.due(at: clock.now)))
        guard sender.datagrams > 0, !sender.isPaced else { return }
        sender.isPaced = true
        schedule(at: clock.now + .nanoseconds(sender.pacing.tick)) { attempt in
            attempt.sender.isPaced = false
            attempt.sendDue()
        }
    }
}

// MARK: Messages that are sent again

extension SimulatedAttempt {
    private var microseconds: Int64 { clock.now.nanoseconds / 1000 }

    private var roundTrip: Double { (SimulatedPeer.usualTransit * 2).inSeconds * 1000 }

    /// Sends as ``SRTSession`` does.
    func service() {
        guard isSending else { return }
        repeat {
            guard flush(), fill() else { return }
        } while sender.first != nil
        watchTail()
        guard phase == .draining, packets.isEmpty else { return }
        phase = .leaving
        sender.leaves = (clock.now + SimulatedSender.latency + .seconds(1), nil)
        awaitReceipt()
    }

    private func fill() -> Bool {
        guard !packets.isEmpty || sender.window.shutSince != nil else { return true }
        guard mayHandOver() else { return false }
        sender.hold(take(Self.batchBytes), at: clock.now)
        return true
    }

    private func flush() -> Bool {
        var messages = 0
        while let packet = sender.first, let connection {
            if messages % Self.messagesPerLook == Self.messagesPerLook - 1, !mayHandOver() { return false }
            sender.transmit(packet, on: connection, of: peer, at: clock.now)
            sender.window.handedOver(at: microseconds)
            sender.removeFirst(at: clock.now)
            sent(packet)
            messages += 1
        }
        return true
    }

    /// Whether the window allows to send media. If not, a retry was scheduled, or the attempt has ended.
    private func mayHandOver() -> Bool {
        guard let wire = sender.recovering else { return false }
        let age = wire.age(at: clock.now)
        switch sender.window.look(age: age, roundTrip: roundTrip, losses: wire.reports, at: microseconds) {
        case .open: return true
        case .reopened:
            packets.hold()
            if !packets.connected() { report.tell(.needsKeyframe) }
            return true
        case .shut(let beginsHold):
            if beginsHold { packets.hold() }
            probe()
            retryLater()
            return false
        case .over:
            fail(OutputFailure(.lost, step: "send", reason: "the receiver has acknowledged nothing"))
            return false
        }
    }

    private func probe() {
        guard let connection, sender.window.isProbeDue(roundTrip: roundTrip, at: microseconds) else { return }
        sender.window.handedOver(at: microseconds)
        sender.transmit(nil, on: connection, of: peer, at: clock.now)
    }

    private func retryLater() {
        guard !sender.isRetrying else { return }
        sender.isRetrying = true
        schedule(at: clock.now + Self.retryInterval) { attempt in
            attempt.sender.isRetrying = false
            attempt.tick()
            attempt.service()
        }
    }

    private func watchTail() {
        guard !sender.isWatching, sender.recovering?.isAcknowledged == false else { return }
        sender.isWatching = true
        let interval = sender.window.probeInterval(roundTrip: roundTrip, at: microseconds)
        schedule(at: clock.now + .microseconds(interval)) { attempt in
            attempt.sender.isWatching = false
            attempt.tick()
            guard attempt.isSending, attempt.sender.recovering?.isAcknowledged == false, attempt.mayHandOver() else {
                return
            }
            attempt.probe()
            attempt.service()
        }
    }

    /// Waits until the receiver has acknowledged all messages, and then has output them.
    private func awaitReceipt() {
        guard phase == .leaving, var leaves = sender.leaves else { return }
        let now = clock.now
        if sender.recovering?.isAcknowledged == true, leaves.played == nil {
            leaves.played = now + SimulatedSender.latency
            sender.leaves = leaves
        }
        if let played = leaves.played ?? (now > leaves.limit ? now : nil), now >= played { return drained() }
        probe()
        schedule(at: now + Self.retryInterval) { attempt in
            attempt.tick()
            attempt.awaitReceipt()
        }
    }
}
