// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Segmenter
internal import Status

/// Metrics of the recorder.
enum RecorderMetrics {
    static let families = states + files + gaps + times

    private static let states: [MetricFamily] = [
        .channel(
            "relay_recorder_wanted", .gauge, "Whether a recording is wanted.", labels: [RecordingCopy.label]
        ) { report, samples in
            let isWanted = MetricFamily.number(report.isRecordingWanted && report.state != .over)
            samples.add(isWanted)
            if report.status?.secondRecording != nil { samples.add(isWanted, RecordingCopy.also) }
        },
        .eachCopy(
            "relay_recorder_state", .gauge, "What the recorder does: 1 of its state, 0 of the others.",
            labels: ["state"]
        ) { recording, samples in
            guard let recorder = recording.status.recorder else { return }
            samples.choose(recorder.state.rawValue, among: RecorderState.allCases.map(\.rawValue), recording.copy)
        },
        .channel(
            "relay_clips_recorder_state", .gauge,
            "What records for clips alone does, or did last: 1 of its state, 0 of the others.", labels: ["state"]
        ) { report, samples in
            guard let recorder = report.status?.clipsRecorder else { return }
            samples.choose(recorder.state.rawValue, among: RecorderState.allCases.map(\.rawValue))
        },
        recorder("relay_recorder_queue_bytes", .gauge, "Bytes that wait to be written.") { Double($0.queueBytes) },
        recorder("relay_recorder_queue_seconds", .gauge, "Media that waits to be written.") {
            Double($0.queueMilliseconds) / 1000
        },
    ]

    private static let files: [MetricFamily] = [
        recorder("relay_recorder_written_bytes_total", .counter, "Bytes written to all files.") {
            Double($0.totalBytes)
        },
        recorder("relay_recorder_written_frames_total", .counter, "Frames written to all files.") {
            Double($0.framesWritten)
        },
        recorder("relay_recorder_segments_total", .counter, "Files finished.") { Double($0.segmentsFinished) },
        recorder("relay_recorder_segment_bytes", .gauge, "Bytes of the open file.") { Double($0.segmentBytes) },
        recorder("relay_recorder_segment_seconds", .gauge, "Media in the open file.") { $0.segmentSeconds },
    ]

    private static let gaps: [MetricFamily] = [
        .eachCopy(
            "relay_recorder_gaps_total", .counter, "Gaps in the recording that are over, by cause.", labels: ["cause"]
        ) { recording, samples in
            guard let recorder = recording.status.recorder else { return }
            for cause in RecordingGap.Cause.allCases {
                samples.add(Double(recorder.gapCauses[cause] ?? 0), recording.copy, cause.rawValue)
            }
        },
        recorder("relay_recorder_gap_frames_total", .counter, "Frames missing over all gaps, also over one that lasts.")
        { Double($0.gapFrames) },
        recorder(
            "relay_recorder_incomplete_frames_total", .counter,
            "Frames in no file because others never came: some that are shown before them, or their keyframe."
        ) { Double($0.incompleteFrames) },
        .eachCopy(
            "relay_recorder_keyframes_requested_total", .counter,
            "Keyframes that the recorder asked for: for a cut, or at once.", labels: ["kind"]
        ) { recording, samples in
            guard let recorder = recording.status.recorder else { return }
            samples.add(Double(recorder.keyframesRequested.timed), recording.copy, "timed")
            samples.add(Double(recorder.keyframesRequested.prompt), recording.copy, "prompt")
        },
    ]

    private static let times: [MetricFamily] = [
        latency("relay_recorder_write_duration_seconds", "How long writes take.") { $0.writeLatency },
        latency("relay_recorder_sync_duration_seconds", "How long it takes to make an open file durable.") {
            $0.syncLatency
        },
    ]

    private static func recorder(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String,
        _ value: @escaping @Sendable (RecorderStatus) -> Double?
    ) -> MetricFamily {
        .copies(name, kind, help) { $0.recorder.flatMap(value) }
    }

    private static func latency(
        _ name: String, _ help: String, _ value: @escaping @Sendable (RecorderStatus) -> WriteLatencyStatus
    ) -> MetricFamily {
        .eachCopy(name, .histogram, help) { recording, samples in
            guard let latency = recording.status.recorder.map(value) else { return }
            samples.add(
                counts: latency.counts, bounds: WriteLatencyStatus.bounds, count: latency.count,
                sum: latency.totalSeconds, recording.copy)
        }
    }
}
