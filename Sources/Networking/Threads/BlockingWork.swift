// SPDX-License-Identifier: Apache-2.0

internal import CDispatch  // must define the C thread types before Glibc does
internal import Dispatch
internal import Foundation
internal import Glibc
internal import Media
internal import Synchronization

/// Runs work that may block, even forever, on its own thread.
///
/// It does not use queues of Dispatch, which runs at most 255 blocked serial queues at a time: 300 targets that hang
/// would keep all others from connecting. A thread costs only an entry in the kernel's tables and the stack pages that
/// it touches.
package enum BlockingWork {
    /// The size of a thread's stack, in bytes. It is large enough for `getaddrinfo` with its plug-ins, which needs more
    /// stack than any other work.
    private static let stackBytes = 512 << 10
    /// The maximum length of a thread's name in the kernel, in bytes.
    private static let nameBytes = 15

    private final class Job {
        let name: String
        let work: @Sendable () -> Void

        init(name: String, work: @escaping @Sendable () -> Void) {
            self.name = name
            self.work = work
        }
    }

    /// Runs `work` once on a new detached thread called `name`. Returns 0, or the error number if no thread could be
    /// created; then `work` does not run. Any thread may call it; it does not block.
    package static func start(_ name: String, _ work: @escaping @Sendable () -> Void) -> CInt {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        pthread_attr_setstacksize(&attributes, stackBytes)
        let job = Unmanaged.passRetained(Job(name: name, work: work))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, &attributes,
            { argument in
                guard let argument else { return nil }
                let job = Unmanaged<Job>.fromOpaque(argument).takeRetainedValue()
                BlockingWork.setName(job.name)
                job.work()
                return nil
            }, job.toOpaque())
        if code != 0 { job.release() }
        return code
    }

    /// Names the calling thread, for `top` and debuggers; `name` is truncated to 15 bytes. Glibc's function for this is
    /// not available in Swift, and Foundation does not pass its names to the kernel.
    package static func setName(_ name: String) {
        let name = String(decoding: name.utf8.prefix(nameBytes), as: UTF8.self)
        let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        _ = name.withCString { write(file, $0, strlen($0)) }
        close(file)
    }
}

/// Carries the result of one thread's work to another thread, which may stop waiting. The result is set once. Any
/// thread may call the methods.
package final class Answer<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    private let isGiven = DispatchSemaphore(value: 0)

    /// An answer without a result yet.
    package init() {}

    /// Sets the result.
    package func give(_ value: Value) {
        self.value.withLock { $0 = value }
        isGiven.signal()
    }

    /// Waits for the result without a limit. Call it once.
    package func wait() -> Value {
        while true {
            isGiven.wait()
            if let value = value.withLock({ $0 }) { return value }
        }
    }

    /// Waits for the result. Returns nil if it does not come within `limit`.
    package func wait(_ limit: Duration) -> Value? {
        _ = isGiven.wait(timeout: .now() + .nanoseconds(Int(limit.inNanoseconds)))
        return value.withLock { $0 }
    }

    /// Runs `work` on a queue called `name` and returns its result; nil if it takes longer than `limit`. If `work`
    /// hangs in a disk, a pipe or a library, its thread remains blocked.
    package static func of(_ name: String, within limit: Duration, _ work: @escaping @Sendable () -> Value) -> Value? {
        let answer = Answer()
        DispatchQueue(label: name).async { answer.give(work()) }
        return answer.wait(limit)
    }
}

/// A thread for encoders and decoders: its stack is as large as a main thread's, as x264 and libavcodec expect.
package enum MediaThread {
    private static let stackBytes = 8 << 20

    /// Runs `work` on a new thread called `name`. Returns at once.
    package static func start(_ name: String, _ work: @escaping @Sendable () -> Void) {
        let thread = Thread {
            BlockingWork.setName(name)
            work()
        }
        thread.stackSize = stackBytes
        thread.start()
    }
}
