// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import Segmenter
internal import Status
internal import Upload

/// Metrics of the disk, of retention and of uploads.
enum StorageMetrics {
    static let families = storage + retention + upload

    private static let storage: [MetricFamily] = [
        .eachCopy(
            "relay_storage_state", .gauge, "What the storage guard thinks: 1 of its state, 0 of the others.",
            labels: ["state"]
        ) { recording, samples in
            guard let storage = recording.status.storage else { return }
            samples.choose(storage.state.rawValue, among: StorageState.allCases.map(\.rawValue), recording.copy)
        },
        disk("relay_storage_free_bytes", "Bytes that are free.") { Double($0.freeBytes) },
        disk("relay_storage_required_bytes", "Bytes that must be free before recording starts.") {
            Double($0.requiredBytes)
        },
        disk("relay_storage_reserve_bytes", "Bytes that stay free.") { Double($0.reserveBytes) },
        disk("relay_storage_reclaimable_bytes", "Bytes that retention may free.") { Double($0.reclaimableBytes) },
        disk(
            "relay_storage_seconds_until_full", "Until recording has to stop; absent while free space does not shrink."
        ) { $0.secondsUntilFull },
        disk("relay_storage_measurement_age_seconds", "Age of the measurement: grows while the disk does not answer.") {
            $0.ageSeconds
        },
    ]

    private static let retention: [MetricFamily] = [
        kept("relay_retention_files", .gauge, "Finished files.") { Double($0.files) },
        kept("relay_retention_bytes", .gauge, "Bytes of all files, the open one too.") { Double($0.bytes) },
        kept("relay_retention_oldest_timestamp_seconds", .gauge, "When the oldest file ended, in seconds since 1970.") {
            $0.oldest.map { Double($0.milliseconds) / 1000 }
        },
        kept("relay_retention_held_files", .gauge, "Files that are not deleted because they are still needed.") {
            Double($0.heldFiles)
        },
        kept("relay_retention_deleted_files_total", .counter, "Files deleted.") { Double($0.deletedFiles) },
        kept("relay_retention_deleted_bytes_total", .counter, "Bytes deleted.") { Double($0.deletedBytes) },
        kept("relay_retention_problem", .gauge, "Whether a limit cannot be kept.") {
            MetricFamily.number($0.problem != nil)
        },
    ]

    private static let upload: [MetricFamily] = [
        handed("relay_upload_waiting_files", .gauge, "Files that wait, the current one included.") {
            Double($0.waitingFiles)
        },
        handed("relay_upload_waiting_bytes", .gauge, "Their bytes.") { Double($0.waitingBytes) },
        handed("relay_upload_oldest_waiting_seconds", .gauge, "How long the oldest of them has waited; 0 if none does.")
        {
            $0.oldestWaitingSeconds ?? 0
        },
        handed("relay_upload_running", .gauge, "Whether a file is being handed over.") {
            MetricFamily.number($0.current != nil)
        },
        handed("relay_upload_files_total", .counter, "Files handed over.") { Double($0.doneFiles) },
        handed("relay_upload_bytes_total", .counter, "Their bytes.") { Double($0.doneBytes) },
        handed("relay_upload_failures_total", .counter, "Tries that failed.") { Double($0.failures) },
        handed("relay_upload_failing_files", .gauge, "Files whose last try failed.") { Double($0.failingFiles) },
        handed("relay_upload_failing_seconds", .gauge, "How long the longest of them has failed; 0 if none does.") {
            $0.failingSeconds ?? 0
        },
        handed("relay_upload_given_up_files_total", .counter, "Files that an operator gave up.") {
            Double($0.givenUpFiles)
        },
    ]

    private static func disk(
        _ name: String, _ help: String, _ value: @escaping @Sendable (StorageStatus) -> Double?
    ) -> MetricFamily {
        .copies(name, .gauge, help) { $0.storage.flatMap(value) }
    }

    private static func kept(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String,
        _ value: @escaping @Sendable (RetentionStatus) -> Double?
    ) -> MetricFamily {
        .copies(name, kind, help) { $0.retention.flatMap(value) }
    }

    private static func handed(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String,
        _ value: @escaping @Sendable (UploadStatus) -> Double?
    ) -> MetricFamily {
        .copies(name, kind, help) { $0.upload.flatMap(value) }
    }
}
