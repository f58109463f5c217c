// SPDX-License-Identifier: Apache-2.0

internal import Encoder
internal import Status

/// Metrics of the encoders and of the CPU time that they use. A program that is passed through has no encoder.
enum EncoderMetrics {
    static let families: [MetricFamily] = [
        encoder("relay_encoder_input_frames_total", "Frames that went into the encoder.") { Double($0.framesIn) },
        encoder("relay_encoder_output_frames_total", "Coded frames that came out.") { Double($0.framesOut) },
        .channel("relay_encoder_bytes_total", .counter, "Coded bytes, by track.", labels: ["track"]) {
            report, samples in
            guard let encoder = status(of: report) else { return }
            samples.add(Double(encoder.bytes - encoder.audioBytes), "video")
            samples.add(Double(encoder.audioBytes), "audio")
        },
        encoder("relay_encoder_forced_keyframes_total", "Keyframes that somebody asked for.") {
            Double($0.forcedKeyframes)
        },
        encoder("relay_encoder_refused_frames_total", "Frames of video and audio that the encoders refused.") {
            Double($0.refusedFrames)
        },
        .channel(
            "relay_encoder_cpu_seconds_total", .counter,
            "CPU time of the program's thread, of the encoder's own threads, and of the whole process.",
            labels: ["part"]
        ) { report, samples in
            guard let encoder = status(of: report) else { return }
            samples.add(encoder.callerSeconds, "program")
            samples.add(encoder.threadSeconds, "threads")
            samples.add(encoder.processSeconds, "process")
        },
        .channel(
            "relay_encoder_cpu_limit_cores", .gauge, "How many cores each part can keep busy at once.", labels: ["part"]
        ) { report, samples in
            guard let encoder = status(of: report) else { return }
            samples.add(1, "program")
            samples.add(Double(max(1, min(encoder.threads, encoder.cores))), "threads")
            samples.add(Double(max(1, encoder.cores)), "process")
        },
    ]

    private static func encoder(
        _ name: String, _ help: String, _ value: @escaping @Sendable (EncoderStatus) -> Double
    ) -> MetricFamily {
        .channel(name, .counter, help) { report, samples in samples.add(status(of: report).map(value)) }
    }

    private static func status(of report: ChannelReport) -> EncoderStatus? {
        guard let status = report.status, status.passthrough == nil else { return nil }
        return status.encoder
    }
}

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
