// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// Stops one thread of a process while the others run, as if this thread waited for a lock forever. The thread
/// continues when this object is released.
final class StoppedThread: Sendable {
    private let tracer: ChildProcess

    /// A tracer can stop a single thread (ptrace(2): PTRACE_SEIZE is 0x4206, PTRACE_INTERRUPT 0x4207, and __WALL
    /// 0x40000000). The thread continues when the tracer ends.
    private static let script = """
        import ctypes, os, sys, time
        libc, thread = ctypes.CDLL(None, use_errno=True), int(sys.argv[1])
        for request in (0x4206, 0x4207):
            if libc.ptrace(ctypes.c_long(request), ctypes.c_long(thread), None, None) < 0:
                sys.exit(os.strerror(ctypes.get_errno()))
        os.waitpid(thread, 0x40000000)
        print("stopped", flush=True)
        time.sleep(600)
        """

    /// Stops the thread called `name` of `process`.
    init(_ name: String, of process: ChildProcess) async throws {
        let tasks = "/proc/\(process.pid)/task"
        let thread = try FileManager.default.contentsOfDirectory(atPath: tasks).first { thread in
            (try? String(contentsOfFile: "\(tasks)/\(thread)/comm", encoding: .utf8)) == name + "\n"
        }
        guard let thread else { throw HarnessFailure("There is no thread \(name).") }
        let tracer = try ChildProcess("python3", ["-c", Self.script, thread])
        self.tracer = tracer
        try await eventually("the thread \(name) stands still", within: .seconds(5)) {
            guard tracer.isRunning else { throw HarnessFailure("\(name) cannot be stopped: \(tracer.errors)") }
            return tracer.output.contains("stopped")
        }
    }

    /// Lets the thread continue.
    func goOn() async throws {
        tracer.signal(SIGKILL)
        try await tracer.ending(within: .seconds(5))
    }
}
