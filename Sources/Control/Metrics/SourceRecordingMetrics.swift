// SPDX-License-Identifier: Apache-2.0

internal import Encoder
internal import Segmenter
internal import Status

/// Metrics of the recordings that are made of single sources.
enum SourceRecordingMetrics {
    static let families: [MetricFamily] = [
        .each(
            "relay_source_recorder_state", .gauge,
            "What the recorder of a source does: 1 of its state, 0 of the others.", labels: ["source", "state"], of: all
        ) { recording, samples in
            guard let state = recording.recorder?.state else { return }
            samples.choose(state.rawValue, among: RecorderState.allCases.map(\.rawValue), recording.source)
        },
        count("relay_source_recorder_written_frames_total", "Frames of a source written to all its files.") {
            $0.recorder.map { Double($0.framesWritten) }
        },
        count("relay_source_recorder_written_bytes_total", "Bytes of a source written to all its files.") {
            $0.recorder.map { Double($0.totalBytes) }
        },
        count("relay_source_recorder_gap_frames_total", "Frames of a source missing over all gaps of its recording.") {
            $0.recorder.map { Double($0.gapFrames) }
        },
        count(
            "relay_source_recorder_dropped_frames_total",
            "Frames of a source left out of its recording: its encoder could not keep up, or its backup had no keyframe "
                + "yet."
        ) { Double($0.droppedFrames) },
        count(
            "relay_source_recorder_cpu_seconds_total", "CPU time of the encoder for the recording of a source."
        ) { $0.encoder.callerSeconds + $0.encoder.threadSeconds },
    ]

    @Sendable private static func all(_ status: ChannelStatus) -> [SourceRecordingStatus] {
        status.sourceRecordings ?? []
    }

    private static func count(
        _ name: String, _ help: String, _ value: @escaping @Sendable (SourceRecordingStatus) -> Double?
    ) -> MetricFamily {
        .each(name, .counter, help, labels: ["source"], of: all) { recording, samples in
            if let value = value(recording) { samples.add(value, recording.source) }
        }
    }
}
