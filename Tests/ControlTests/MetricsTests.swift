// SPDX-License-Identifier: Apache-2.0

import Archive
import Encoder
import Foundation
import Ingest
import Media
import Program
import Status
import TestSupport
import Testing
import Upload

@testable import Control
@testable import FanOut
@testable import Monitor
@testable import SRT
@testable import Segmenter

@Suite("Prometheus metrics")
struct MetricsTests {
    private func output(_ name: String, state: OutputState.Name = .live) -> OutputStatus {
        var statistics = SRTStatistics()
        statistics.totals.packetsSent = 700
        statistics.moment = SRTStatistics.Moment(
            roundTripMilliseconds: 12.5, sendRate: 8, bandwidth: 50, maximumBandwidth: 100, packetsInFlight: 1,
            flowWindow: 8192, sendBufferMilliseconds: 20, sendBufferFreeBytes: 1_000_000, latencyMilliseconds: 120)
        var details = OutputDetails()
        details.srt = statistics
        return OutputStatus(
            name: name, kind: OutputKindName(rawValue: "srt"), address: "srt://host:9000?passphrase=***", state: state,
            detail: nil, liveSeconds: 1.5, bytes: 1000, frames: 25, reconnects: 2, attempts: 3, queue: QueueStatus(),
            details: details, wasLive: true,
            endpoint: .primary)
    }

    private func status() -> ChannelStatus {
        var status = ChannelStatus(
            sources: [SourceStatus(), SourceStatus()], feed: FeedStatus(), audioFeed: FeedStatus(),
            program: ProgramStatus(), encoder: EncoderStatus(), frameRate: FrameRate(25), outputs: [output("main")])
        status.program.frames = 250
        status.sources[0].audioOffsetSeconds = -0.012
        status.sources[0].srt = SRTInputStatistics()
        status.outputs[0].queue.drops = [.congestion: 7]
        status.storage = StorageStatus(
            state: .warning, freeBytes: 1 << 40, requiredBytes: 5, reserveBytes: 6, secondsUntilFull: 90.5,
            directory: "/", ageSeconds: 0.5)
        status.retention = RetentionStatus()
        status.upload = UploadStatus()
        status.monitor = MonitorStatus()
        status.monitor?.loudness = LoudnessStatus()
        status.monitor?.silence = AlarmStatus(isActive: true, seconds: 3, count: 1)
        return status
    }

    private func report(_ name: String = "news", _ status: ChannelStatus? = nil) -> ChannelReport {
        var report = ChannelReport(name: name, state: .onAir, time: UTCTime(milliseconds: 0))
        report.status = status ?? self.status()
        return report
    }

    private func render(_ channels: [ChannelReport]) -> String {
        MetricsText.render(
            MetricsSnapshot(
                channels: channels, version: "1.2", failedLogins: 4, wrongStreamKeys: ["srt": 0, "rtmp": 3],
                certificateExpiry: 1_800_000_000,
                webhooks: [WebhookStatus(name: "hooks.example", delivered: 5, failed: 3, leftOut: 2, waiting: 1)]))
    }

    private func lines(_ channels: [ChannelReport]) -> [Substring] { render(channels).split(separator: "\n") }

    @Test("The metrics count repeated, late and dropped frames for each source")
    func parts() {
        var (status, feed) = (status(), FeedStatus())
        (feed.framesRepeated, feed.framesLate, feed.framesDropped) = (7, 3, 2)
        status.parts = [PartStatus(name: "cam1", isOnAir: true, selection: nil, feed: feed, levels: [])]
        let lines = lines([report("news", status)])
        for (name, count) in [("repeated", 7), ("late", 3), ("dropped", 2)] {
            let line = "relay_source_\(name)_frames_total{channel=\"news\",source=\"cam1\"} \(count)"
            #expect(lines.contains { $0 == line })
        }
    }

    // MARK: The format

    @Test("In labels of metrics backslash, quote and line feed are escaped, and no other characters")
    func escaping() {
        #expect(MetricSamples.escaped("a\\b\"c\nd") == "a\\\\b\\\"c\\nd")
        #expect(MetricSamples.escaped("x\r\ny") == "x\r\\ny")
        #expect(MetricSamples.escaped("Küche {1}, ünïcode") == "Küche {1}, ünïcode")
        #expect(MetricSamples.escapedHelp("a\\b\nc \"d\"") == "a\\\\b\\nc \"d\"")
        #expect(lines([report("a\"b\n")]).contains("relay_channel_on_air{channel=\"a\\\"b\\n\"} 1"))
    }

    @Test("Values of metrics are written without losing a digit")
    func numbers() {
        let values = [0, -0.012, 1_099_511_627_776, 0.1, .infinity, -.infinity, 1e300, 9_007_199_254_740_992]
        let texts = ["0", "-0.012", "1099511627776", "0.1", "+Inf", "-Inf", "1e+300", "9007199254740992.0"]
        #expect(values.map(MetricSamples.number) == texts)
        #expect(MetricSamples.number(.nan) == "NaN")
    }

    @Test("Each metric family has its help and type once, before all of its samples, for any number of channels")
    func headers() {
        let lines = lines([report("one"), report("two")])
        var seen: Set<Substring> = []
        var current: Substring = ""
        for line in lines {
            let words = line.split(separator: " ")
            if line.hasPrefix("# HELP ") {
                #expect(seen.insert(words[2]).inserted, "\(words[2]) begins twice")
                #expect(words.count > 3)
                current = words[2]
            } else if line.hasPrefix("# TYPE ") {
                #expect(words[2] == current)
            } else {
                #expect(line.hasPrefix(current), "\(line) is not of \(current)")
            }
        }
        #expect(lines.filter { $0.hasPrefix("relay_channel_on_air{") }.count == 2)
    }

    // MARK: The families

    @Test("Names of metrics are unique and have a prefix; counters end in _total, others in a unit unless listed")
    func names() {
        let units = [
            "seconds", "bytes", "ratio", "hertz", "cores", "ppm", "lufs", "dbtp", "decibels", "info", "state", "files",
            "fds", "second",
        ]
        let plain: Set = [
            "relay_channel_on_air", "relay_channel_problems", "relay_source_on_air", "relay_selection_on_air",
            "relay_output_endpoint",
            "relay_output_consecutive_failures", "relay_output_receivers", "relay_output_receiver_dropped_frames",
            "relay_recorder_wanted", "relay_retention_problem", "relay_upload_running", "relay_source_silent",
            "relay_srt_packets_flight_size", "relay_srt_packets_flow_window", "relay_srt_packets_receive_buf",
            "relay_alarm_active", "relay_storage_seconds_until_full", "relay_webhook_waiting_events",
        ]
        let names = MetricsText.families.map(\.name)
        #expect(Set(names).count == names.count)
        for family in MetricsText.families {
            let name = family.name
            #expect(name.hasPrefix("relay_") || name.hasPrefix("process_"))
            #expect(name.hasSuffix("_total") == (family.kind == .counter), "\(name)")
            let last = name.split(separator: "_").last.map(String.init) ?? ""
            #expect(family.kind == .counter || units.contains(last) || plain.contains(name), "\(name) has no unit")
            #expect(family.help.hasSuffix("."), "\(name)")
            #expect(!family.labels.contains { ["url", "key", "address"].contains($0) })
        }
    }

    @Test("A channel's status is written as the expected lines of metrics")
    func values() {
        let lines = Set(lines([report()]))
        for line in [
            "relay_channel_state{channel=\"news\",state=\"on_air\"} 1",
            "relay_channel_state{channel=\"news\",state=\"waiting\"} 0",
            "relay_program_frames_total{channel=\"news\"} 250",
            "relay_program_frame_rate_hertz{channel=\"news\"} 25",
            "relay_output_state{channel=\"news\",output=\"main\",state=\"live\"} 1",
            "relay_output_state{channel=\"news\",output=\"main\",state=\"given_up\"} 0",
            "relay_output_reconnects_total{channel=\"news\",output=\"main\"} 2",
            "relay_output_dropped_packets_total{channel=\"news\",output=\"main\",cause=\"congestion\"} 7",
            "relay_output_dropped_packets_total{channel=\"news\",output=\"main\",cause=\"overflow\"} 0",
            "relay_srt_rtt_seconds{channel=\"news\",output=\"main\"} 0.0125",
            "relay_srt_send_rate_bytes_per_second{channel=\"news\",output=\"main\"} 1000000",
            "relay_srt_packets_sent_total{channel=\"news\",output=\"main\"} 700",
            "relay_srt_connections_total{channel=\"news\",source=\"input\"} 0",
            "relay_source_audio_offset_seconds{channel=\"news\",source=\"input\"} -0.012",
            "relay_source_state{channel=\"news\",source=\"audio-input\",state=\"opening\"} 1",
            "relay_storage_free_bytes{channel=\"news\"} 1099511627776",
            "relay_storage_seconds_until_full{channel=\"news\"} 90.5",
            "relay_storage_state{channel=\"news\",state=\"warning\"} 1",
            "relay_alarm_active{channel=\"news\",alarm=\"silence\"} 1",
            "relay_loudness_momentary_lufs{channel=\"news\"} -120",
            "relay_build_info{version=\"1.2\"} 1", "relay_http_failed_logins_total 4",
            "relay_wrong_stream_keys_total{protocol=\"rtmp\"} 3", "relay_wrong_stream_keys_total{protocol=\"srt\"} 0",
            "relay_certificate_expiry_timestamp_seconds{listener=\"http\"} 1800000000",
            "relay_webhook_delivered_total{webhook=\"hooks.example\"} 5",
            "relay_webhook_left_out_total{webhook=\"hooks.example\"} 2",
        ] {
            #expect(lines.contains(Substring(line)), "\(line)")
        }
    }

    @Test("Metrics of the recording in a second directory have a label that those of the first one do not have")
    func secondRecording() {
        var status = status()
        var recorder = RecorderStatus()
        recorder.state = .recording
        status.recorder = recorder
        recorder.state = .failed
        recorder.count(RecordingGap(from: 0, to: 1, reason: "why", cause: .storage, frames: 3))
        status.secondRecording = SecondRecordingStatus(
            directory: "/mnt/second",
            RecordingStatus(
                recorder: recorder,
                storage: StorageStatus(
                    state: .stopped, freeBytes: 7, requiredBytes: 5, reserveBytes: 6, secondsUntilFull: 0,
                    directory: "/mnt/second", ageSeconds: 0.5),
                retention: RetentionStatus(), upload: UploadStatus()))
        var report = report("news", status)
        report.isRecordingWanted = true
        let (lines, also) = (lines([report]), #"channel="news",copy="also""#)
        for line in [
            "relay_recorder_wanted{channel=\"news\"} 1", "relay_recorder_wanted{\(also)} 1",
            "relay_recorder_state{channel=\"news\",state=\"recording\"} 1",
            "relay_recorder_state{\(also),state=\"recording\"} 0", "relay_recorder_state{\(also),state=\"failed\"} 1",
            "relay_recorder_gaps_total{channel=\"news\",cause=\"storage\"} 0",
            "relay_recorder_gaps_total{\(also),cause=\"storage\"} 1",
            "relay_recorder_keyframes_requested_total{\(also),kind=\"timed\"} 0",
            "relay_recorder_write_duration_seconds_bucket{\(also),le=\"+Inf\"} 0",
            "relay_recorder_write_duration_seconds_count{\(also)} 0",
            "relay_storage_state{\(also),state=\"stopped\"} 1", "relay_storage_free_bytes{\(also)} 7",
            "relay_storage_seconds_until_full{\(also)} 0", "relay_storage_free_bytes{channel=\"news\"} 1099511627776",
            "relay_retention_files{\(also)} 0", "relay_upload_failing_files{\(also)} 0",
        ] {
            #expect(lines.contains(Substring(line)), "\(line)")
        }
        #expect(!lines.contains { $0.contains("/mnt/second") })
        #expect(!self.lines([self.report()]).contains { $0.contains("copy=") })
    }

    @Test("A failed recorder for clips counts as a problem, even if no recording is requested")
    func clips() {
        var status = status()
        status.clipsRecorder = RecorderStatus()
        let before = report("news", status).problems
        status.clipsRecorder?.state = .suspended
        let report = report("news", status)
        #expect(report.problems == before + 1 && !report.isRecordingWanted)
        #expect(lines([report]).contains(#"relay_clips_recorder_state{channel="news",state="suspended"} 1"#))
    }

    @Test("An audio level in the metrics is that of the loudest audio channel")
    func levels() {
        var status = status()
        status.program.levels = [-12.5, -6]
        status.parts = [
            PartStatus(name: "one", isOnAir: true, selection: nil, feed: FeedStatus(), levels: [-20, -30]),
            PartStatus(name: "two", isOnAir: false, selection: nil, feed: FeedStatus(), levels: []),
        ]
        var report = report("news", status)
        report.heardLevels = ["audio": [-40, -35]]
        let lines = lines([report])
        #expect(lines.contains("relay_program_level_decibels{channel=\"news\"} -6"))
        #expect(lines.contains("relay_source_level_decibels{channel=\"news\",source=\"audio\"} -35"))
        #expect(lines.contains("relay_source_level_decibels{channel=\"news\",source=\"one\"} -20"))
        #expect(!lines.contains { $0.hasPrefix("relay_source_level_decibels") && $0.contains("two") })
        #expect(!self.lines([self.report()]).contains { $0.hasPrefix("relay_program_level_decibels") })
    }

    @Test("A metric without a known value is omitted together with its header")
    func absent() {
        var status = status()
        (status.storage, status.monitor, status.outputs) = (nil, nil, [])
        let text = render([report("news", status)])
        for name in ["relay_storage_", "relay_loudness_", "relay_alarm", "relay_output_", "relay_recorder_state"] {
            #expect(!text.contains(name), "\(name)")
        }
        var closed = ChannelReport(name: "closed", state: .waiting)
        closed.status = nil
        #expect(lines([closed]).contains("relay_channel_state{channel=\"closed\",state=\"waiting\"} 1"))
    }

    @Test("A copied program has no metrics of encoders and decoded sources, and its frames count as the program's")
    func passthrough() {
        var status = status()
        status.passthrough = PassthroughStatus()
        status.passthrough?.frames = 77
        let text = render([report("news", status)])
        #expect(text.contains("relay_program_frames_total{channel=\"news\"} 77\n"))
        #expect(!text.contains("relay_encoder_") && !text.contains("relay_feed_"))
    }

    @Test("The metrics tell whether the first input, a backup, the slate or nothing is on air, and name the inputs")
    func selection() {
        func state(_ onAir: String?, _ number: Int?) -> [Substring] {
            var status = status()
            status.selection = SelectionStatus(
                onAir: onAir, number: number, inputs: ["cam1", "loop"], open: ["cam1"])
            return lines([report("news", status)]).filter { $0.hasSuffix(" 1") }
        }
        #expect(state("cam1", 0).contains("relay_selection_state{channel=\"news\",state=\"primary\"} 1"))
        #expect(state("loop", 1).contains("relay_selection_state{channel=\"news\",state=\"backup\"} 1"))
        #expect(state("loop", 1).contains("relay_selection_on_air{channel=\"news\",input=\"loop\"} 1"))
        #expect(state("slate", nil).contains("relay_selection_state{channel=\"news\",state=\"slate\"} 1"))
        #expect(state(nil, nil).contains("relay_selection_state{channel=\"news\",state=\"none\"} 1"))
        #expect(
            state("cam1", 0).contains("relay_source_state{channel=\"news\",source=\"loop\",state=\"closed\"} 1"))
    }

    @Test("The latency of writes is a histogram with cumulative buckets in the metrics")
    func histogram() {
        var latencies = LatencyHistogram()
        for milliseconds in [0, 1, 2, 30, 20_000] { latencies.record(.milliseconds(milliseconds)) }
        var status = status()
        status.recorder = RecorderStatus()
        status.recorder?.writeLatency = latencies.status
        let lines = lines([report("news", status)]).filter { $0.hasPrefix("relay_recorder_write_duration_seconds") }
        let counts = lines.map { $0.split(separator: " ").last.map(String.init) ?? "" }
        // The counts of the buckets up to 0.5, 1, 2.5, 5, 10, 25 and 50 ms, and so on to 10 s; then the bucket of all
        // values, the sum in seconds, and the count of all values.
        let buckets = ["1", "2", "3", "3", "3", "3"] + Array(repeating: "4", count: 8) + ["5"]
        #expect(counts == buckets + ["20.033", "5"])
        #expect(lines[0] == "relay_recorder_write_duration_seconds_bucket{channel=\"news\",le=\"0.0005\"} 1")
        #expect(lines[14] == "relay_recorder_write_duration_seconds_bucket{channel=\"news\",le=\"+Inf\"} 5")
    }

    @Test("The metrics count gaps in the recording by cause")
    func gaps() {
        var recorder = RecorderStatus()
        for cause in [RecordingGap.Cause.overflow, .overflow, .storage] {
            recorder.count(RecordingGap(from: 0, to: 1, reason: "why", cause: cause, frames: 3))
        }
        var status = status()
        status.recorder = recorder
        let lines = Set(lines([report("news", status)]))
        #expect(lines.contains("relay_recorder_gaps_total{channel=\"news\",cause=\"overflow\"} 2"))
        #expect(lines.contains("relay_recorder_gaps_total{channel=\"news\",cause=\"failure\"} 0"))
        #expect(lines.contains("relay_recorder_gap_frames_total{channel=\"news\"} 9"))
    }

    @Test("The metrics do not contain addresses of inputs or outputs")
    func secrets() { #expect(!render([report()]).contains("://")) }

    @Test("The process's start time, CPU time, memory and number of descriptors are read for the metrics")
    func process() throws {
        let usage = try #require(ProcessUsage.now)
        #expect(usage.start > 1_500_000_000 && usage.start <= Date().timeIntervalSince1970 + 1)
        #expect(usage.cpu > 0 && usage.residentBytes > 1 << 20)
        #expect(usage.descriptors > 2 && usage.mostDescriptors > 2)
    }
}
