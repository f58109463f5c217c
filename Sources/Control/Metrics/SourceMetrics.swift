// SPDX-License-Identifier: Apache-2.0

internal import Ingest
internal import Media
internal import SourceClock
internal import Status

/// Metrics of the sources.
enum SourceMetrics {
    static let families = states + packets + clocks

    /// A source with the value of its label `source`.
    struct Named {
        var name: String
        var status: SourceStatus
        /// Whether the source should be open; a backup that is not needed should not be open.
        var isOpen: Bool
    }

    /// The state that is reported for a source that should not be open.
    private static let closed = "closed"
    private static let all = SourceStatus.State.allCases.map(\.rawValue) + [closed]

    /// Returns the sources with their names. If the channel selects one of several inputs, these are the names of the
    /// inputs; otherwise, the input is called `input`. The separate audio input is called `audio-input`.
    static func named(_ status: ChannelStatus) -> [Named] {
        if let parts = status.parts { return named(status.sources, of: parts) }
        let names = (status.selection?.inputs ?? ["input"]) + ["audio-input"]
        return status.sources.enumerated().map { index, source in
            let isOpen = status.selection.map { index >= $0.inputs.count || $0.open.contains(names[index]) } ?? true
            return Named(name: index < names.count ? names[index] : "\(index + 1)", status: source, isOpen: isOpen)
        }
    }

    /// Returns the inputs of a program with several sources, with their names. A source's first input has the source's
    /// name. The name of a backup input consists of the source's name and its own. The separate audio input is called
    /// `audio`.
    private static func named(_ sources: [SourceStatus], of parts: [PartStatus]) -> [Named] {
        let names = parts.flatMap { part -> [(name: String, isOpen: Bool)] in
            guard let selection = part.selection else { return [(part.name, true)] }
            return selection.inputs.enumerated().map { index, input in
                (index == 0 ? part.name : "\(part.name) \(input)", selection.open.contains(input))
            }
        }
        return sources.enumerated().map { index, source in
            let known = names.indices.contains(index) ? names[index] : ("audio", true)
            return Named(name: known.0, status: source, isOpen: known.1)
        }
    }

    private static func parts(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String, _ value: @escaping @Sendable (PartStatus) -> Double
    ) -> MetricFamily {
        .channel(name, kind, help, labels: ["source"]) { report, samples in
            for part in report.status?.parts ?? [] { samples.add(value(part), part.name) }
        }
    }

    private static let states: [MetricFamily] = [
        parts("relay_source_on_air", .gauge, "Whether one of several sources is seen.") {
            MetricFamily.number($0.isOnAir)
        },
        parts(
            "relay_source_repeated_frames_total", .counter,
            "Frames of one of several sources that were shown once more."
        ) { Double($0.framesRepeated) },
        parts(
            "relay_source_late_frames_total", .counter,
            "Those of them for which the next frame was due and had not come."
        ) { Double($0.framesLate) },
        parts(
            "relay_source_dropped_frames_total", .counter, "Frames of one of several sources that were never shown."
        ) { Double($0.framesDropped) },
        .channel(
            "relay_source_level_decibels", .gauge,
            "The peak of one of several sources, heard or not, of its loudest channel, against full scale.",
            labels: ["source"]
        ) { report, samples in
            for part in report.status?.parts ?? [] { samples.add(part.levels.max(), part.name) }
            for (name, levels) in report.heardLevels { samples.add(levels.max(), name) }
        },
        .each(
            "relay_source_state", .gauge, "What the source does: 1 of its state, 0 of the others.",
            labels: ["source", "state"], of: named
        ) { source, samples in
            samples.choose(source.isOpen ? source.status.state.rawValue : closed, among: all, source.name)
        },
        .each(
            "relay_source_silent", .gauge, "Whether nothing comes of a track of a live source that is open.",
            labels: ["source", "track"], of: named
        ) { source, samples in
            guard source.status.clock != nil else { return }
            for track in [TrackKind.video, .audio] {
                let isSilent = source.status.silentTracks.contains(track)
                samples.add(MetricFamily.number(isSilent), source.name, "\(track)")
            }
        },
    ]

    private static let packets: [MetricFamily] = [
        count("relay_source_frames_total", "Frames delivered.") { Double($0.framesDecoded) },
        count("relay_source_skipped_frames_total", "Frames that were not decoded because no output needed them.") {
            Double($0.framesSkipped)
        },
        count(
            "relay_source_overdue_frames_total", "Frames decoded after their time because the machine was late."
        ) { Double($0.framesOverdue) },
        count("relay_source_packets_total", "Packets read.") { Double($0.packetsRead) },
        count("relay_source_decode_errors_total", "What the decoders refused or repaired, and damaged packets.") {
            Double($0.decodeErrors)
        },
        count("relay_source_reopens_total", "Times the source was opened again.") { Double($0.reopens) },
    ]

    private static let clocks: [MetricFamily] = [
        one(
            "relay_source_audio_offset_seconds", .gauge,
            "How far audio is from where its timestamps put it against video; positive if early."
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

    private static func one(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String,
        _ value: @escaping @Sendable (SourceStatus) -> Double?
    ) -> MetricFamily {
        .each(name, kind, help, labels: ["source"], of: named) { source, samples in
            samples.add(value(source.status), source.name)
        }
    }

    private static func count(
        _ name: String, _ help: String, _ value: @escaping @Sendable (SourceStatus) -> Double?
    ) -> MetricFamily {
        one(name, .counter, help, value)
    }
}
