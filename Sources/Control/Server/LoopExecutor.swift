// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// Runs tasks on the thread of an event loop that also serves their connections. A request that is answered at once
/// then wakes no other thread, which would cost more than the response. Blocking work must not run here: see
/// ``Blocking``.
final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    /// Runs tasks on the thread of `loop`, which must outlive them.
    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
