// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import LibAV
internal import Media
internal import SRT

extension SRTSession {
    /// How often within a frame the age of what the library holds is looked at, in messages.
    private static let messagesPerLook = 16
    /// The part of the frame interval over which a frame is spread, in percent: the rest absorbs the clock's jitter.
    private static let spreadPercent: Int64 = 80

    /// The library says no more than that: it ends a connection when the peer closes it or is silent for 5 s.
    var gone: OutputFailure {
        OutputFailure(.lost, step: "send", reason: "\(url): the receiver closed the connection or fell silent")
    }

    /// How old what the library holds may get, in milliseconds, before nothing is added and the queue's policy has to deal
    /// with the rest: half the latency, but enough for the round trip after which an acknowledgement comes.
    ///
    /// libsrt drops by itself, in mid-GOP, and only when a message is added: whatever is older than the latency, at least
    /// 1 s, then. As nothing is added above this age, which is less, it never does.
    private var maximumAge: Int64 {
        let wanted = max(latency / 2, Int64(roundTrip * 1.5) + 60)
        return url.dropAge(latency: latency).map { min(wanted, $0 - 100) } ?? wanted
    }

    func service() {
        guard phase == .live || phase == .draining else { return }
        guard socket.condition != .broken else { return fail(gone) }
        repeat {
            guard flush() else { return }
            guard fill() else { return }
        } while stream.count > 0
        caughtUp()
        if phase == .draining { leave() }
    }

    /// Makes messages of what is queued, up to a bound. False after a failure, or while nothing may be sent.
    private func fill() -> Bool {
        guard !packets.isEmpty else { return true }
        guard mayHandOver() else { return false }
        var frames = 0
        do throws(AVFailure) {
            while stream.count < Self.messagesAhead, let packet = packets.pop() {
                if packet.track == .video { frames += 1 }
                try stream.write(packet)
                if packet.track == .video { spacing.note(packet) }
            }
        } catch {
            unsentFrames += frames
            fail(OutputFailure(.lost, step: "send", reason: "\(error)"))
            return false
        }
        unsentFrames += frames
        let isAll = packets.isEmpty
        if isAll { stream.flush() }
        // More than one frame is a backlog, which goes out as fast as it can.
        let isInTime = isAll && frames <= 1 && !isCatchingUp
        let now = SRTSocket.now
        pace.begin(at: now, spread: isInTime ? spacing.interval / 1000 * Self.spreadPercent / 100 : 0)
        if isInTime { bandwidth.count(bytes: stream.bytes, at: now) }
        return true
    }

    /// Whether the library may be given more now. If not, it is tried again.
    private func mayHandOver() -> Bool {
        let (now, held) = (SRTSocket.now, socket.sendBuffer)
        let age = held.bytes > 0 ? held.milliseconds + max(0, now - pace.newest) / 1000 : 0
        if age > maximumAge {
            shutSince = shutSince ?? now
            retryLater()
            return false
        }
        if let since = shutSince, now - since > Self.stall { packets.skip() }
        shutSince = nil
        return true
    }

    /// Hands messages to the library until none is left. False when it would block or the connection broke.
    private func flush() -> Bool {
        var (bytes, messages) = (0, 0)
        defer { account(bytes, isComplete: stream.count == 0) }
        while let message = stream.first {
            if messages % Self.messagesPerLook == Self.messagesPerLook - 1, !mayHandOver() { return false }
            switch socket.send(message, at: pace.next(at: SRTSocket.now, remaining: stream.count)) {
            case .sent:
                bytes += message.count
                messages += 1
                stream.removeFirst()
            case .wouldBlock:
                retryLater()
                return false
            case .failed(let reason):
                fail(OutputFailure(.lost, step: "send", reason: url.masking("\(url): \(reason)")))
                return false
            }
        }
        return true
    }

    private func account(_ bytes: Int, isComplete: Bool) {
        guard bytes > 0 else { return }
        let frames = isComplete ? unsentFrames : 0
        unsentFrames -= frames
        account(bytes: bytes, frames: frames)
    }

    /// The backlog of the beginning is out; from now on the rate is the stream's own.
    private func caughtUp() {
        guard isCatchingUp, phase == .live else { return }
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

    // MARK: The end

    private func leave() {
        do throws(AVFailure) { try stream.finish() } catch {
            return fail(OutputFailure(.lost, step: "send", reason: "\(error)"))
        }
        guard flush() else { return }
        phase = .lingering
        awaitReceipt(until: SRTSocket.now + (latency + 1000) * 1000)
    }

    /// A receiver drops at the close what it has not played out yet, so the close waits until everything is
    /// acknowledged and then for the receiver's latency. What is not acknowledged long after that it does not want any
    /// more: with a packet filter, loss at the very end is never reported.
    private func awaitReceipt(until limit: Int64) {
        guard phase == .lingering else { return }
        if socket.condition == .broken || SRTSocket.now > limit { return end(.drained) }
        if socket.sendBuffer.bytes > 0 {
            post(after: Self.pollInterval) { $0.awaitReceipt(until: limit) }
        } else {
            post(after: .milliseconds(latency + 50)) { $0.end(.drained) }
        }
    }
}
