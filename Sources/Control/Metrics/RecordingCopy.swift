// SPDX-License-Identifier: Apache-2.0

internal import Status

/// One of the two recordings of a channel's program, for metrics.
struct RecordingCopy {
    /// The name of the label by which the metrics of the two recordings differ.
    static let label = "copy"
    /// The label's value for the recording in the second directory.
    static let also = "also"

    /// The label's value; nil, which means no label, for the recording in the record directory.
    let copy: String?
    let status: RecordingStatus

    /// Returns the recordings of a channel; the second one only if there is a second directory.
    @Sendable static func all(_ status: ChannelStatus) -> [RecordingCopy] {
        let first = RecordingStatus(
            recorder: status.recorder, storage: status.storage, retention: status.retention, upload: status.upload)
        let second = status.secondRecording.map { second in
            RecordingStatus(
                recorder: second.recorder, storage: second.storage, retention: second.retention, upload: second.upload)
        }
        return [RecordingCopy(copy: nil, status: first)]
            + (second.map { [RecordingCopy(copy: also, status: $0)] } ?? [])
    }
}

extension MetricFamily {
    /// A metric with samples for each recording of a program. Its first labels are `channel` and
    /// ``RecordingCopy/label``; the `labels` follow.
    static func eachCopy(
        _ name: String, _ kind: Kind, _ help: String, labels: [String] = [],
        _ read: @escaping @Sendable (RecordingCopy, inout MetricSamples) -> Void
    ) -> MetricFamily {
        .each(name, kind, help, labels: [RecordingCopy.label] + labels, of: RecordingCopy.all, read)
    }

    /// A metric with at most one sample for each recording of a program.
    static func copies(
        _ name: String, _ kind: Kind, _ help: String, _ value: @escaping @Sendable (RecordingStatus) -> Double?
    ) -> MetricFamily {
        eachCopy(name, kind, help) { recording, samples in samples.add(value(recording.status), recording.copy) }
    }
}
