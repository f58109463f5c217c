// SPDX-License-Identifier: Apache-2.0

package import Dispatch

/// Runs an actor on a serial queue, and ends the process where its state is touched on another.
///
/// This is the one proof for state that belongs to a queue: the compiler keeps others from an actor's state, and
/// `assumeIsolated` asks the queue.
package final class QueueExecutor: SerialExecutor {
    /// The serial queue. What is posted to it runs in that order.
    package let queue: DispatchQueue

    /// An executor that runs on `queue`, which must be serial.
    package init(_ queue: DispatchQueue) { self.queue = queue }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    package func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}

/// An actor that lives on a serial queue, together with what is posted there directly.
package protocol QueueActor: Actor {
    /// The executor of the actor's queue.
    nonisolated var executor: QueueExecutor { get }
}

extension QueueActor {
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Runs `work` on the actor's queue, behind what was posted before. Any thread; does not block.
    package nonisolated func post(_ work: @escaping @Sendable (isolated Self) -> Void) {
        executor.queue.async { self.assumeIsolated(work) }
    }

    /// As ``post(_:)``, after `delay`.
    package nonisolated func post(after delay: Duration, _ work: @escaping @Sendable (isolated Self) -> Void) {
        executor.queue.asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: delay.inNanoseconds))) {
            self.assumeIsolated(work)
        }
    }
}
