// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Media

/// The sources.
enum SourceMetrics {
    static let families = states + packets + clocks

    /// The sources by their names: those of the inputs where there is a choice, else what the flags call them.
    static func named(_ status: ChannelStatus) -> [(name: String, status: SourceStatus)] {
        let names = (status.selection?.inputs ?? ["input"]) + ["audio-input"]
        return status.sources.enumerated().map { index, source in
            (index < names.count ? names[index] : "\(index + 1)", source)
        }
    }

    private static let states: [MetricFamily] = [
        each("relay_source_state", .gauge, "What the source does: 1 of its state, 0 of the others.", labels: ["state"])
        {
            name, source, samples in
            samples.choose(source.state.rawValue, among: SourceStatus.State.allCases.map(\.rawValue), name)
        },
        each(
            "relay_source_silent", .gauge, "Whether nothing comes of a track of a live source that is open.",
            labels: ["track"]
        ) { name, source, samples in
            guard source.clock != nil else { return }
            for track in [TrackKind.video, .audio] {
                samples.add(MetricFamily.number(source.silentTracks.contains(track)), name, "\(track)")
            }
        },
    ]

    private static let packets: [MetricFamily] = [
        count("relay_source_frames_total", "Frames delivered.") { Double($0.framesDecoded) },
        count("relay_source_skipped_frames_total", "Frames that were not decoded because nobody needed them.") {
            Double($0.framesSkipped)
        },
        count("relay_source_packets_total", "Packets read.") { Double($0.packetsRead) },
        count("relay_source_decode_errors_total", "What the decoders refused or repaired, and damaged packets.") {
            Double($0.decodeErrors)
        },
        count("relay_source_reopens_total", "Times the source was opened again.") { Double($0.reopens) },
    ]

    private static let clocks: [MetricFamily] = [
        one(
            "relay_source_audio_offset_seconds", .gauge,
            "How far audio lies from where its stamps put it against video; positive if early."
        ) { $0.audioOffsetSeconds },
        one("relay_source_drift_ppm", .gauge, "By how much the sender's clock is faster than this machine's.") {
            $0.clock?.ratePPM
        },
        one("relay_source_buffer_seconds", .gauge, "The buffer over the earliest packets.") {
            $0.clock.map { $0.bufferMilliseconds / 1000 }
        },
        one("relay_source_interleaving_seconds", .gauge, "How much later than video audio comes in the multiplex.") {
            $0.clock.map { $0.audioBehindVideoMilliseconds / 1000 }
        },
        count("relay_source_late_packets_total", "Packets that came after their time.") {
            $0.clock.map { Double($0.latePackets) }
        },
        count("relay_source_steps_total", "Times all that was not shown yet was moved at once.") {
            $0.clock.map { Double($0.steps) }
        },
        count("relay_source_jumps_total", "Times the sender's stamps jumped.") { $0.clock.map { Double($0.jumps) } },
        count("relay_source_lone_jumps_total", "Jumps that only one track made.") {
            $0.clock.map { Double($0.loneJumps) }
        },
        count("relay_source_path_changes_total", "Times the path's delay changed for good.") {
            $0.clock.map { Double($0.pathChanges) }
        },
    ]

    private static func each(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String, labels: [String],
        _ read: @escaping @Sendable (String, SourceStatus, inout MetricSamples) -> Void
    ) -> MetricFamily {
        .each(name, kind, help, labels: ["source"] + labels, of: named) { source, samples in
            read(source.name, source.status, &samples)
        }
    }

    private static func one(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String,
        _ value: @escaping @Sendable (SourceStatus) -> Double?
    ) -> MetricFamily {
        each(name, kind, help, labels: []) { name, source, samples in samples.add(value(source), name) }
    }

    private static func count(
        _ name: String, _ help: String, _ value: @escaping @Sendable (SourceStatus) -> Double?
    ) -> MetricFamily {
        one(name, .counter, help, value)
    }
}
