// SPDX-License-Identifier: Apache-2.0

internal import Encoder
internal import Status

/// Metrics of the renditions.
enum RenditionMetrics {
    static let families: [MetricFamily] = [
        count("relay_rendition_input_frames_total", "Frames that went into the encoder of a rendition.") {
            Double($0.encoder.framesIn)
        },
        count("relay_rendition_output_frames_total", "Coded frames of a rendition that came out.") {
            Double($0.encoder.framesOut)
        },
        count("relay_rendition_bytes_total", "Coded bytes of a rendition, of both tracks.") {
            Double($0.encoder.bytes)
        },
        count("relay_rendition_keyframes_total", "Keyframes of a rendition.") { Double($0.encoder.keyframes) },
        count(
            "relay_rendition_dropped_frames_total",
            "Frames left out of a rendition because its encoder could not keep up."
        ) { Double($0.droppedFrames) },
        count("relay_rendition_cpu_seconds_total", "CPU time of the encoder of a rendition.") {
            $0.encoder.callerSeconds + $0.encoder.threadSeconds
        },
    ]

    private static func count(
        _ name: String, _ help: String, _ value: @escaping @Sendable (RenditionStatus) -> Double
    ) -> MetricFamily {
        .each(name, .counter, help, labels: ["rendition"], of: { $0.renditions ?? [] }) { rendition, samples in
            samples.add(value(rendition), rendition.name)
        }
    }
}
