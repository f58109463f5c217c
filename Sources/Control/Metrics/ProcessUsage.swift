// SPDX-License-Identifier: Apache-2.0

internal import CDispatch  // owns the C types of time where it is loaded before Glibc
internal import Foundation
internal import Glibc

/// The resources that this process uses, as the system reports them.
struct ProcessUsage: Sendable {
    /// When the process started, in seconds since 1970.
    var start = 0.0
    /// CPU time, user and system, in seconds.
    var cpu = 0.0
    /// Resident memory in bytes.
    var residentBytes: Int64 = 0
    /// The number of open descriptors.
    var descriptors = 0
    /// The limit for open descriptors.
    var mostDescriptors: UInt64 = 0

    /// The usage before it is read: zeros.
    init() {}

    /// The current usage; nil if the system does not report it. Reads three files under `/proc`.
    static var now: ProcessUsage? {
        // proc(5): the second field is a name in parentheses, which may contain any character; the third field follows
        // the last parenthesis.
        guard let text = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
            let bracket = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[text.index(after: bracket)...].split(separator: " ")
        guard fields.count > 21, let begin = Double(fields[19]), let pages = Int64(fields[21]) else { return nil }
        var usage = ProcessUsage()
        let now = seconds(CLOCK_REALTIME)
        // Field 22 is the start time in ticks since boot, and field 24 the number of resident pages.
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
