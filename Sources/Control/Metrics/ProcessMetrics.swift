// SPDX-License-Identifier: Apache-2.0

internal import CDispatch  // declares C's time types if it is loaded before Glibc
internal import Foundation
internal import Glibc
internal import Status

/// Metrics of the process, its HTTP server and its certificates.
enum ProcessMetrics {
    static let families: [MetricFamily] = [
        MetricFamily(name: "relay_build_info", kind: .gauge, labels: ["version"], help: "relay's version.") {
            snapshot, samples in samples.add(1, snapshot.version)
        },
        MetricFamily(
            name: "relay_http_failed_logins_total", kind: .counter, labels: [], help: "Wrong tokens that were shown."
        ) { snapshot, samples in samples.add(Double(snapshot.failedLogins)) },
        MetricFamily(
            name: "relay_wrong_stream_keys_total", kind: .counter, labels: ["protocol"],
            help: "Wrong stream keys, stream ids and passphrases that publishers, callers and players showed."
        ) { snapshot, samples in
            for (name, count) in snapshot.wrongStreamKeys.sorted(by: { $0.key < $1.key }) {
                samples.add(Double(count), name)
            }
        },
        MetricFamily(
            name: "relay_accept_pauses_total", kind: .counter, labels: [],
            help: "Times that a server stopped accepting connections: few descriptors were free."
        ) { snapshot, samples in samples.add(Double(snapshot.acceptPauses)) },
        MetricFamily(
            name: "relay_certificate_expiry_timestamp_seconds", kind: .gauge, labels: ["listener", "channel"],
            help: "Until when the certificate is valid that a listener shows, in seconds since 1970."
        ) { snapshot, samples in
            samples.add(snapshot.certificateExpiry.map(Double.init), "http", nil)
            for report in snapshot.channels {
                samples.add(report.certificateExpiry.map(Double.init), "rtmps", report.name)
            }
        },
        process("process_start_time_seconds", .gauge, "When the process began, in seconds since 1970.") { $0.start },
        process("process_cpu_seconds_total", .counter, "CPU time of the process, user and system.") { $0.cpu },
        process("process_resident_memory_bytes", .gauge, "Memory of the process.") { Double($0.residentBytes) },
        process("process_open_fds", .gauge, "Descriptors that are open.") { Double($0.descriptors) },
        process("process_max_fds", .gauge, "Descriptors that may be open.") { Double($0.mostDescriptors) },
    ]

    private static func process(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String, _ value: @escaping @Sendable (ProcessUsage) -> Double
    ) -> MetricFamily {
        MetricFamily(name: name, kind: kind, labels: [], help: help) { snapshot, samples in
            samples.add(snapshot.process.map(value))
        }
    }
}

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

    /// A usage in which all values are 0.
    init() {}

    /// The current usage; nil if the system does not report it. Reads `/proc/self/stat`, and counts the entries of
    /// `/proc/self/fd`.
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
