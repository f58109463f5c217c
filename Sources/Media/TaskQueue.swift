// SPDX-License-Identifier: Apache-2.0

internal import Dispatch

/// Runs tasks on a serial queue of its own, so that a thread can wait for them even while all threads of Swift's pool
/// are blocked.
package final class TaskQueue: TaskExecutor {
    private let queue: DispatchQueue

    /// Creates a queue with this label.
    package init(label: String) { queue = DispatchQueue(label: label) }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
