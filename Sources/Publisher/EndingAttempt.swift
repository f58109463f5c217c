// SPDX-License-Identifier: Apache-2.0

internal import FanOut
internal import Media
internal import Networking

/// A connection attempt that runs on its own queue and ends once. It first releases its resources, then reports how it
/// ended.
protocol EndingAttempt: OutputAttempt, QueueActor, PacketServer {
    /// What the attempt works with.
    nonisolated var context: AttemptContext { get }
    /// Starts to connect, to listen or to write, unless the attempt has begun or ended before.
    func begin()
    /// Releases sockets, timers and files. A second call has no effect.
    func close()
}

extension EndingAttempt {
    nonisolated var executor: QueueExecutor { context.executor }
    nonisolated var packets: PacketQueue { context.packets }
    nonisolated var streams: StreamDescription { context.streams }
    nonisolated var clock: any MonotonicClock { context.clock }
    nonisolated var report: AttemptReport { context.report }

    nonisolated var server: any PacketServer { self }

    nonisolated func start() { post { $0.begin() } }

    nonisolated func abandon() {
        report.silence()
        post { $0.close() }
    }

    /// Reports the step `resolve`, resolves `host`, and passes the answer to `proceed` on the attempt's queue.
    func resolve(
        _ host: String, port: UInt16, _ proceed: @escaping @Sendable (isolated Self, HostResolver.Answer) -> Void
    ) {
        report.tell(.step("resolve"))
        HostResolver.shared.resolve(host, port: port) { answer in
            self.post { proceed($0, answer) }
        }
    }

    /// Releases the resources and reports `failure`, unless the attempt's end was reported before.
    func fail(_ failure: OutputFailure) { end(.failed(failure)) }

    /// Releases the resources and reports that everything was sent, unless the attempt's end was reported before.
    func drained() { end(.drained) }

    private func end(_ event: AttemptEvent) {
        close()
        report.end(event)
    }
}

/// An attempt that reads the output's queue itself, on its own queue.
protocol ServingAttempt: EndingAttempt {
    /// Sends the packets in the output's queue, if the attempt may send.
    func serve()
}

extension ServingAttempt {
    nonisolated func wake() { serveSoon() }

    /// Calls ``serve()`` on the attempt's queue. Several calls in a row cause only one pass over the packets.
    nonisolated func serveSoon() {
        guard context.wakes.raise() else { return }
        post { attempt in
            attempt.context.wakes.lower()
            attempt.serve()
        }
    }
}
