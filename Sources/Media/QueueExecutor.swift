// SPDX-License-Identifier: Apache-2.0

package import Dispatch

/// Runs an actor on a serial queue, and stops the process if the actor's state is used on another queue.
///
/// The compiler keeps other code away from an actor's state, and `assumeIsolated` checks the queue at run time.
package final class QueueExecutor: SerialExecutor {
    /// The serial queue. Work runs in the order in which it is posted.
    package let queue: DispatchQueue

    /// An executor that runs on `queue`, which must be serial.
    package init(_ queue: DispatchQueue) { self.queue = queue }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    package func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}

/// An actor that runs on a serial queue, to which work can also be posted directly.
package protocol QueueActor: Actor {
    /// The executor of the actor's queue.
    nonisolated var executor: QueueExecutor { get }
}

extension QueueActor {
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Runs `work` on the actor's queue, after all work that was posted earlier. Any thread may call this method. It
    /// does not block.
    package nonisolated func post(_ work: @escaping @Sendable (isolated Self) -> Void) {
        executor.queue.async { self.assumeIsolated(work) }
    }

    /// Like ``post(_:)``, but runs `work` after `delay`.
    package nonisolated func post(after delay: Duration, _ work: @escaping @Sendable (isolated Self) -> Void) {
        executor.queue.asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: delay.inNanoseconds))) {
            self.assumeIsolated(work)
        }
    }
}
