// SPDX-License-Identifier: Apache-2.0

internal import Media
internal import Program
internal import Status

/// Metrics of the program: what is on air, and the feeds of its sources.
enum ProgramMetrics {
    static let families = program + feeds + passthrough

    private static let program: [MetricFamily] = [
        .program("relay_program_frames_total", .counter, "Frames put on air.") { status in
            status.passthrough.map { Double($0.frames) } ?? Double(status.program.frames)
        },
        .program("relay_program_skipped_frames_total", .counter, "Frames left out because the encoder was too slow.") {
            Double($0.program.skippedFrames)
        },
        .program("relay_program_lag_seconds", .gauge, "How far the program is behind its clock.") {
            $0.program.lagSeconds
        },
        .program(
            "relay_program_level_decibels", .gauge,
            "The peak of what is heard, of its loudest channel, against full scale."
        ) { $0.passthrough == nil ? $0.program.levels.max() : nil },
        .program("relay_program_frame_rate_hertz", .gauge, "Frames a second that the program is to have.") {
            $0.frameRate.value
        },
    ]

    /// Metrics of the feeds, which carry decoded media from the sources to the program. A program that is passed
    /// through has no feed.
    private static let feeds: [MetricFamily] = [
        video("relay_feed_frames_total", "Frames that came from the source on air.") { Double($0.framesIn) },
        video("relay_feed_dropped_frames_total", "Frames of the source that were never shown.") {
            Double($0.framesDropped)
        },
        video("relay_feed_repeated_frames_total", "Frames of the program that show the one before again.") {
            Double($0.framesRepeated)
        },
        audio("relay_feed_silence_seconds_total", "Silence that was put where audio was missing.") {
            seconds($0.silentSamples)
        },
        audio("relay_feed_cut_seconds_total", "Audio that came too late or twice, and was left out.") {
            seconds($0.cutSamples)
        },
        audio("relay_feed_resyncs_total", "Times that a live source's audio was moved at once.") {
            Double($0.resyncs)
        },
    ]

    private static let passthrough: [MetricFamily] = [
        .program("relay_passthrough_packets_total", .counter, "Packets passed through.") {
            $0.passthrough.map { Double($0.packets) }
        },
        .program("relay_passthrough_bytes_total", .counter, "Bytes passed through.") {
            $0.passthrough.map { Double($0.bytes) }
        },
        .program(
            "relay_passthrough_undecodable_frames_total", .counter, "Frames left out that refer to a missing keyframe."
        ) { $0.passthrough.map { Double($0.undecodableFrames) } },
        .program(
            "relay_passthrough_moved_packets_total", .counter, "Packets whose decoding time was made to increase."
        ) { $0.passthrough.map { Double($0.movedPackets) } },
        .program(
            "relay_passthrough_errors_total", .counter, "Packets of the track that is encoded that cannot be decoded."
        ) { $0.passthrough.map { Double($0.transcodingErrors) } },
        .program(
            "relay_passthrough_skipped_packets_total", .counter, "Packets left out because the encoder was too slow."
        ) { $0.passthrough.map { Double($0.skippedPackets) } },
    ]

    private static func seconds(_ samples: Int) -> Double { Double(samples) / Double(AudioFormat.program.sampleRate) }

    private static func video(
        _ name: String, _ help: String, _ value: @escaping @Sendable (FeedStatus) -> Double
    ) -> MetricFamily {
        .program(name, .counter, help) { $0.passthrough == nil ? value($0.feed) : nil }
    }

    private static func audio(
        _ name: String, _ help: String, _ value: @escaping @Sendable (FeedStatus) -> Double
    ) -> MetricFamily {
        .program(name, .counter, help) { $0.passthrough == nil ? $0.audioFeed.map(value) : nil }
    }
}
