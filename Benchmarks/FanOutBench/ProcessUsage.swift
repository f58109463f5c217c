// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Glibc

/// The resources of this process, as the kernel reports them.
enum ProcessUsage {
    /// CPU time so far, user and system, in seconds.
    static var cpuSeconds: Double {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }

    /// Resident memory in MB (10⁶ bytes).
    static var residentMegabytes: Double { Double(status("VmRSS:")) * 1024 / 1e6 }

    /// Number of threads.
    static var threads: Int { status("Threads:") }

    /// Number of open descriptors.
    static var descriptors: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0 }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }

    private static func status(_ key: String) -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix(key) }
        return line.flatMap { Int($0.dropFirst(key.count).split { !$0.isNumber }.first ?? "") } ?? 0
    }
}
