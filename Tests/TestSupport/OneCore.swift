// SPDX-License-Identifier: Apache-2.0

internal import CLinux

/// Restricts a thread to one processor core, as `taskset` restricts a process.
package enum OneCore {
    private struct Failure: Error {}

    /// Runs `body` while the calling thread may use only the first of its cores.
    package static func run<Value>(_ body: () throws -> Value) throws -> Value {
        var before = [UInt](repeating: 0, count: 128)
        let size = before.count * MemoryLayout<UInt>.size
        guard sched_getaffinity(0, size, &before) == 0, let word = before.firstIndex(where: { $0 != 0 }) else {
            throw Failure()
        }
        var one = [UInt](repeating: 0, count: before.count)
        one[word] = 1 << UInt(before[word].trailingZeroBitCount)
        guard sched_setaffinity(0, size, one) == 0 else { throw Failure() }
        defer { _ = sched_setaffinity(0, size, before) }
        return try body()
    }
}
