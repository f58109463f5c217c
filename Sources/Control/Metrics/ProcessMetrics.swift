// SPDX-License-Identifier: Apache-2.0

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
