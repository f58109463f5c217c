// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import LibAV
internal import Media
internal import Network
internal import Synchronization

extension UDPAttempt {
    /// A receiver that is away is named again after this long without a word.
    private static let noticeInterval: Int64 = 60_000_000_000

    /// A frame came: what is left of the one before it goes out now, and this one is spread over its time.
    func service() {
        dispatchPrecondition(condition: .onQueue(queue))
        guard phase == .live || phase == .draining, let socket, let stream else { return }
        // What the kernel does not take stays, and the queue's policy deals with the rest.
        guard send(stream.count, of: stream, by: socket) else { return retryIfDraining() }
        guard fill(stream) else { return }
        if phase == .draining { return leave(stream, socket) }
        pacing.begin(count: stream.count, at: clock.now)
        sendDue()
    }

    /// Makes datagrams of what is queued. False after a failure.
    private func fill(_ stream: TransportStream) -> Bool {
        do throws(AVFailure) {
            while let packet = packets.pop() {
                try stream.write(packet)
                if packet.track == .video { unsentFrames += 1 }
            }
            stream.flush()
            return true
        } catch {
            fail(OutputFailure(.lost, step: "send", reason: "\(error)"))
            return false
        }
    }

    private func sendDue() {
        guard phase == .live, let socket, let stream else { return }
        let count = min(stream.count, pacing.due(at: clock.now))
        _ = send(count, of: stream, by: socket)
        if phase == .live, stream.count > 0 { startTimer() } else { stopTimer() }
    }

    private func startTimer() {
        guard timer == nil else { return }
        let interval = DispatchTimeInterval.nanoseconds(Int(pacing.tick))
        let timer = DispatchSource.makeTimerSource(flags: .strict, queue: queue)
        timer.schedule(deadline: .now() + interval, repeating: interval, leeway: .nanoseconds(0))
        timer.setEventHandler { [weak self] in self?.sendDue() }
        timer.activate()
        self.timer = timer
    }

    private func stopTimer() {
        timer?.cancel()
        timer = nil
    }

    /// Sends the oldest `count` datagrams. False when the kernel takes no more for now, or the attempt is over.
    private func send(_ count: Int, of stream: TransportStream, by socket: UDPSocket) -> Bool {
        var (bytes, handled) = (0, 0)
        defer {
            pacing.note(sent: handled)
            if handled > 0 { account(bytes: bytes, isComplete: stream.count == 0) }
        }
        while handled < count, let datagram = stream.first {
            switch socket.send(datagram) {
            case .sent: bytes += datagram.count
            case .sentAfterLoss(let reason):
                bytes += datagram.count
                noteLoss(reason)
            case .lost(let reason): noteLoss(reason)
            case .wouldBlock: return false
            case .failed(let reason):
                fail(OutputFailure(.unreachable, step: "send", reason: "\(url): \(reason)"))
                return false
            }
            stream.removeFirst()
            handled += 1
        }
        return true
    }

    private func noteLoss(_ reason: String) {
        lostDatagrams += 1
        let now = clock.now
        guard lastNotice.map({ now - $0 >= Self.noticeInterval }) ?? true else { return }
        lastNotice = now
        report.tell(.notice("\(url): \(reason); the stream is sent all the same"))
    }

    private func account(bytes: Int, isComplete: Bool) {
        let frames = isComplete ? unsentFrames : 0
        unsentFrames -= frames
        sent.withLock { sent in
            sent.bytes += UInt64(bytes)
            sent.frames += UInt64(frames)
            sent.details["send_errors"] = Double(lostDatagrams)
        }
    }

    private func leave(_ stream: TransportStream, _ socket: UDPSocket) {
        do throws(AVFailure) { try stream.finish() } catch { report.tell(.notice("\(error)")) }
        guard send(stream.count, of: stream, by: socket) else { return retryIfDraining() }
        close()
        report.end(.drained)
    }

    /// No frame comes any more that would have what is left sent.
    private func retryIfDraining() {
        guard phase == .draining else { return }
        queue.asyncAfter(deadline: .now() + .milliseconds(5)) { self.service() }
    }
}
