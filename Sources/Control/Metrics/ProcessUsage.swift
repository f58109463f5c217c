// SPDX-License-Identifier: Apache-2.0

internal import CDispatch  // owns the C types of time where it is loaded before Glibc
internal import Foundation
internal import Glibc

/// What this process takes of the machine, as the system tells it.
struct ProcessUsage: Sendable {
    /// When it began, in seconds since 1970.
    var start = 0.0
    /// CPU time, user and system, in seconds.
    var cpu = 0.0
    /// Memory that it holds.
    var residentBytes: Int64 = 0
    /// Descriptors that are open.
    var descriptors = 0
    /// Descriptors that may be open.
    var mostDescriptors: UInt64 = 0

    /// A process of which nothing is known.
    init() {}

    /// Now; nil where the system does not tell. Reads three files below `/proc`.
    static var now: ProcessUsage? {
        // proc(5): the second field is a name in brackets that may hold anything; the third follows the last bracket.
        guard let text = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
            let bracket = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[text.index(after: bracket)...].split(separator: " ")
        guard fields.count > 21, let begin = Double(fields[19]), let pages = Int64(fields[21]) else { return nil }
        var usage = ProcessUsage()
        let now = seconds(CLOCK_REALTIME)
        // Field 22 is the start in ticks since the machine was started, and 24 the pages in memory.
        usage.start = now - seconds(CLOCK_BOOTTIME) + begin / Double(sysconf(Int32(_SC_CLK_TCK)))
        usage.residentBytes = pages * Int64(sysconf(Int32(_SC_PAGESIZE)))
        usage.cpu = seconds(CLOCK_PROCESS_CPUTIME_ID)
        usage.descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            usage.mostDescriptors = UInt64(limit.rlim_cur)
        }
        return usage
    }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
