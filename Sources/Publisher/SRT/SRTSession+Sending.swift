// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import LibAV
internal import Media
internal import SRT

extension SRTSession {
    /// The number of messages after which the age of the oldest unacknowledged message is checked again, even within a
    /// frame.
    private static let messagesPerLook = 16
    /// The part of the frame interval over which a frame's messages are spread, in percent. The rest of the interval
    /// absorbs clock jitter.
    private static let spreadPercent: Int64 = 80
    /// A null packet of a transport stream (ISO/IEC 13818-1, 2.4.1), which receivers ignore.
    private static let probe: [UInt8] = [0x47, 0x1F, 0xFF, 0x10] + [UInt8](repeating: 0xFF, count: 184)

    /// The failure for a lost connection. libsrt gives no reason. It ends a connection when the peer closes it, or when
    /// the peer sends nothing for 5 s or the time that the address sets (`peeridletimeo`).
    var gone: OutputFailure {
        OutputFailure(.lost, step: "send", reason: "\(url): the receiver closed the connection or fell silent")
    }

    func service() {
        guard phase == .live || phase == .draining else { return }
        guard socket.condition != .broken else { return fail(gone) }
        repeat {
            guard flush() else { return }
            guard fill() else { return }
        } while stream.count > 0
        caughtUp()
        watchTail()
        if phase == .draining { leave() }
    }

    /// Makes messages from the packets in the queue, up to a limit. Returns false after a failure, or while no media
    /// may be sent.
    private func fill() -> Bool {
        guard !packets.isEmpty || window.shutSince != nil else { return true }
        guard mayHandOver() else { return false }
        var frames = 0
        do throws(AVFailure) {
            while stream.count < Self.messagesAhead, let packet = packets.pop() {
                if packet.track == .video {
                    frames += 1
                    // Each frame is counted at once, because another thread may read the counts at any time.
                    tookFrame()
                }
                try stream.write(packet)
                if packet.track == .video { spacing.note(packet) }
            }
        } catch {
            fail(OutputFailure(.lost, step: "send", reason: "\(error)"))
            return false
        }
        let isAll = packets.isEmpty
        if isAll { stream.flush() }
        // More than one new frame in the queue is a backlog, which is sent as fast as possible.
        let isInTime = isAll && frames <= 1 && !isCatchingUp
        let now = SRTSocket.now
        pace.begin(at: now, spread: isInTime ? spacing.interval / 1000 * Self.spreadPercent / 100 : 0)
        if isInTime { bandwidth.count(bytes: stream.bytes, at: now) }
        return true
    }

    /// Returns whether more messages may be passed to libsrt now. If not, a retry was scheduled, or the session has
    /// ended.
    private func mayHandOver() -> Bool {
        noteReceipts()
        let (now, held) = (SRTSocket.now, socket.sendBuffer)
        let age = held.flatMap { $0.bytes > 0 ? $0.milliseconds + max(0, now - pace.newest) / 1000 : nil }
        switch window.look(age: age, roundTrip: roundTrip, losses: socket.losses, at: now) {
        case .open: return true
        case .reopened(let duration):
            resume(after: duration)
            return true
        case .shut(let beginsHold):
            if beginsHold { packets.hold() }
            probe(at: now)
            retryLater()
            return false
        case .over:
            let seconds = window.patience / 1_000_000
            let reason = "\(url): the receiver has acknowledged nothing for \(seconds) s"
            fail(OutputFailure(.lost, step: "send", reason: reason))
            return false
        }
    }

    /// Continues sending at a keyframe, because the receiver accepts data again after `duration` microseconds.
    private func resume(after duration: Int64) {
        packets.hold()
        let hasKeyframe = packets.connected()
        catchUp()
        guard phase == .live else { return }
        onNotice(.notice("the receiver took nothing for \(duration / 1000) ms: the stream continues at a keyframe"))
        if !hasKeyframe { onNotice(.needsKeyframe) }
    }

    /// Sends a probe if a message is unacknowledged and a probe is due. The receiver then notices if the newest
    /// messages are missing.
    private func probe(at now: Int64) {
        guard window.isProbeDue(roundTrip: roundTrip, at: now) else { return }
        window.handedOver(at: now)
        // If the probe is not accepted, nothing is counted: the next message cannot be sent either.
        guard socket.send(Self.probe, at: pace.next(at: now, remaining: 1)) == .sent else { return }
        handedOverProbe(bytes: Self.probe.count)
    }

    /// Schedules another check while messages are unacknowledged. Without a probe, the loss of the newest messages
    /// would be noticed only with the next message, which may come much later.
    private func watchTail() {
        guard !isWatching, holdsMessages else { return }
        isWatching = true
        post(after: .microseconds(window.probeInterval(roundTrip: roundTrip, at: SRTSocket.now))) { session in
            session.isWatching = false
            guard session.phase == .live || session.phase == .draining else { return }
            session.noteReceipts()
            guard session.holdsMessages, session.mayHandOver() else { return }
            session.probe(at: SRTSocket.now)
            session.service()
        }
    }

    /// Passes all messages to libsrt. Returns false if libsrt accepts no more at present, or if the connection is lost.
    private func flush() -> Bool {
        var messages = 0
        while let message = stream.first {
            if messages % Self.messagesPerLook == Self.messagesPerLook - 1, !mayHandOver() { return false }
            let now = SRTSocket.now
            switch socket.send(message, at: pace.next(at: now, remaining: stream.count)) {
            case .sent:
                window.handedOver(at: now)
                messages += 1
                stream.removeFirst()
                handedOver(bytes: message.count)
            case .wouldBlock:
                if mayHandOver() { retryLater() }
                return false
            case .failed(let reason):
                fail(OutputFailure(.lost, step: "send", reason: url.masking("\(url): \(reason)")))
                return false
            }
        }
        return true
    }

    /// Whether libsrt holds messages that are not acknowledged.
    private var holdsMessages: Bool { (socket.sendBuffer?.bytes ?? 0) > 0 }

    /// Starts to send a backlog as fast as possible.
    func catchUp() {
        isCatchingUp = true
        if bandwidth.adaptsOverhead { socket.setOverhead(100) }
    }

    /// Records that the backlog was sent. From now on packets are sent at the rate of the stream.
    private func caughtUp() {
        guard isCatchingUp, phase == .live, window.shutSince == nil else { return }
        isCatchingUp = false
        if bandwidth.adaptsOverhead { socket.setOverhead(bandwidth.overhead) }
    }

    private func retryLater() {
        guard !isRetrying else { return }
        isRetrying = true
        post(after: Self.retryInterval) { session in
            session.isRetrying = false
            session.service()
        }
    }

    // MARK: Ending the connection

    private func leave() {
        do throws(AVFailure) { try stream.finish() } catch {
            return fail(OutputFailure(.lost, step: "send", reason: "\(error)"))
        }
        guard flush() else { return }
        phase = .lingering
        awaitReceipt(until: SRTSocket.now + (latency + 1000) * 1000)
    }

    /// Waits until all messages are acknowledged, and then for the receiver's latency, because a receiver that is
    /// closed drops what it has not played yet. A receiver can play even later than its latency: its clock starts with
    /// the handshake, which may have reached it late, or its host may be busy. ``playoutMargin`` allows for that. At
    /// `limit`, messages that are still unacknowledged are given up, because with a packet filter losses at the very
    /// end are never reported.
    private func awaitReceipt(until limit: Int64) {
        guard phase == .lingering else { return }
        let isBroken = socket.condition == .broken
        noteReceipts()
        if isBroken || SRTSocket.now > limit { return endUnacknowledged(isBroken: isBroken) }
        if holdsMessages {
            probe(at: SRTSocket.now)
            post(after: Self.pollInterval) { $0.awaitReceipt(until: limit) }
        } else {
            // The messages of the last frame may be scheduled over the whole duration of that frame, so the wait is
            // longer by the rest of this time.
            let ahead = max(0, pace.newest - SRTSocket.now)
            post(after: .milliseconds(latency) + Self.playoutMargin + .microseconds(ahead)) { session in
                session.endUnacknowledged(isBroken: false)
            }
        }
    }

    /// Ends the session although the receiver may not have acknowledged everything, and tells how many frames it has
    /// not acknowledged.
    private func endUnacknowledged(isBroken: Bool) {
        guard phase == .lingering else { return }
        let frames = unacknowledgedFrames
        guard frames > 0 else { return end(.drained) }
        let loss = "before it acknowledged the last \(frames) frame\(frames == 1 ? "" : "s")"
        if isBroken { return fail(OutputFailure(.lost, step: "send", reason: "\(gone.reason) \(loss)")) }
        onNotice(.notice("the connection is closed \(loss)"))
        end(.drained)
    }
}
