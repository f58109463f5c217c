// SPDX-License-Identifier: Apache-2.0

internal import CX264
internal import Glibc
internal import Synchronization

/// The threads that x264 created for one session. They live as long as the session.
struct EncoderThreads: Sendable {
    /// Locked while a session is being opened, so that x264 creates no threads of another session meanwhile.
    private static let opening = Mutex<Void>(())

    private let clocks: [clockid_t]

    /// Runs `open`, which opens one session, and finds the threads that x264 has created during this call. They are
    /// found by the name that relay's C code for x264 gives them. Waits while another thread opens a session, which
    /// takes some milliseconds.
    static func made(by open: () -> Void) -> EncoderThreads {
        opening.withLock { _ in
            let before = Set(named())
            open()
            let made = named().filter { !before.contains($0) }
            return EncoderThreads(clocks: made.map(clock))
        }
    }

    /// CPU time that the threads have used so far, in seconds. Any thread can read it.
    var seconds: Double { clocks.reduce(0) { $0 + ThreadTime.read($1) } }

    /// Number of threads.
    var count: Int { clocks.count }

    /// The ID of the clock of a thread's CPU time, as Linux numbers it: the inverted thread ID, shifted left by three
    /// bits, with CPUCLOCK_PERTHREAD_MASK (4) and CPUCLOCK_SCHED (2) in the lower bits (linux/posix-timers.h).
    /// `pthread_getcpuclockid` returns the same value, but x264 does not expose its `pthread_t`.
    private static func clock(of thread: pid_t) -> clockid_t { ~thread << 3 | 4 | 2 }

    /// The IDs of this process's threads that have the name of x264's threads.
    private static func named() -> [pid_t] {
        guard let directory = opendir("/proc/self/task") else { return [] }
        defer { closedir(directory) }
        var found: [pid_t] = []
        while let entry = readdir(directory) {
            let text = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let thread = pid_t(text), name(of: thread) == RELAY_X264_THREAD { found.append(thread) }
        }
        return found
    }

    private static func name(of thread: pid_t) -> String? {
        guard let file = fopen("/proc/self/task/\(thread)/comm", "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 64)
        guard fgets(&line, Int32(line.count), file) != nil else { return nil }
        return String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// CPU time of x264's threads: those of the present session and of the sessions that it has replaced. Any thread can
/// read it.
final class EncoderThreadTime: Sendable {
    private struct State: Sendable {
        /// CPU time of the threads of the replaced sessions, in seconds.
        var ended = 0.0
        var threads: EncoderThreads
    }

    private let state: Mutex<State>

    /// Counts the time of `threads`, those of the first session.
    init(_ threads: EncoderThreads) { state = Mutex(State(threads: threads)) }

    /// The time so far, in seconds. It never decreases.
    var seconds: Double { state.withLock { $0.ended + $0.threads.seconds } }

    /// Counts the time of `threads`, those of a session that replaces the present one, from now on. To be called before
    /// the present session is released, because the time of its threads can be read only while they exist.
    func replace(with threads: EncoderThreads) {
        state.withLock { $0 = State(ended: $0.ended + $0.threads.seconds, threads: threads) }
    }
}
