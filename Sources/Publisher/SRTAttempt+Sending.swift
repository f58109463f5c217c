// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanOut
internal import LibAV
internal import Media
internal import Synchronization

extension SRTAttempt {
    /// The library says no more than that: it ends a connection when the peer closes it or is silent for 5 s.
    private var gone: OutputFailure {
        OutputFailure(.lost, step: "send", reason: "\(url): the receiver closed the connection or fell silent")
    }

    /// Media that the library may hold, in milliseconds, before the queue's policy has to deal with the rest: less than the
    /// age at which libsrt drops messages by itself, in mid-GOP, which is the latency but at least 1 s.
    private var maximumBuffer: Int { max(1000, latency) - 300 }

    func service() {
        dispatchPrecondition(condition: .onQueue(queue))
        guard phase == .live || phase == .draining, let socket, let stream else { return }
        guard socket.condition != .broken else { return fail(gone) }
        repeat {
            guard flush(stream, to: socket) else { return }
            if socket.sendBuffer.milliseconds > maximumBuffer { return retryLater() }
            guard fill(stream) else { return }
        } while stream.count > 0
        if phase == .draining { leave(stream, socket) }
    }

    /// Makes messages of what is queued, up to a bound. False after a failure.
    private func fill(_ stream: TransportStream) -> Bool {
        do throws(MuxerFailure) {
            while stream.count < Self.messagesAhead {
                guard let packet = packets.pop() else {
                    stream.flush()
                    break
                }
                try stream.write(packet)
                if packet.track == .video { unsentPictures += 1 }
            }
            return true
        } catch {
            fail(OutputFailure(.lost, step: "send", reason: "\(error)"))
            return false
        }
    }

    /// Hands messages to the library until none is left. False when it would block or the connection broke.
    private func flush(_ stream: TransportStream, to socket: SRTSocket) -> Bool {
        var bytes = 0
        defer { account(bytes: bytes, isComplete: stream.count == 0) }
        while let message = stream.first {
            switch socket.send(message) {
            case .sent:
                bytes += message.count
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

    private func account(bytes: Int, isComplete: Bool) {
        guard bytes > 0 else { return }
        let pictures = isComplete ? unsentPictures : 0
        unsentPictures -= pictures
        shared.withLock { shared in
            shared.progress.bytes += UInt64(bytes)
            shared.progress.frames += UInt64(pictures)
        }
    }

    private func retryLater() {
        guard !isRetrying else { return }
        isRetrying = true
        after(Self.retryMilliseconds) {
            self.isRetrying = false
            self.service()
        }
    }

    /// Once a second: numbers for display, and whether the connection still stands.
    func startTimer() {
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + 1, repeating: 1, leeway: .milliseconds(100))
        timer.setEventHandler { [weak self] in self?.inspect() }
        timer.activate()
        self.timer = timer
    }

    private func inspect() {
        guard phase == .live || phase == .draining, let socket else { return }
        guard socket.condition != .broken else { return fail(gone) }
        let details = socket.details()
        shared.withLock { $0.progress.details = details }
    }

    private func leave(_ stream: TransportStream, _ socket: SRTSocket) {
        do throws(MuxerFailure) { try stream.finish() } catch { tell(.notice("\(error)")) }
        guard flush(stream, to: socket) else { return }
        phase = .lingering
        awaitReceipt()
    }

    /// A receiver drops at the close what it has not played out yet, so the close waits until everything is
    /// acknowledged and then for the receiver's latency.
    private func awaitReceipt() {
        guard phase == .lingering, let socket else { return }
        if socket.condition == .broken { return drained() }
        if socket.sendBuffer.bytes > 0 {
            after(Self.pollMilliseconds) { self.awaitReceipt() }
        } else {
            after(latency + 50) { self.drained() }
        }
    }
}
