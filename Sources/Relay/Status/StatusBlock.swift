// SPDX-License-Identifier: Apache-2.0

internal import Encoder
internal import FanOut
internal import Ingest
internal import Media
internal import Monitor
internal import Program
internal import SRT
internal import Segmenter
internal import Status
internal import Upload

/// The status block for a terminal and the status line for a log, made from two snapshots.
struct StatusBlock {
    /// The current snapshot of the channel's status.
    let now: ChannelStatus
    /// The previous snapshot of the channel's status, from which rates are computed; nil if there was no snapshot
    /// before.
    let before: ChannelStatus?
    /// The time between the two snapshots, in seconds.
    let interval: Double

    /// One line each for the program, its run-down, each rendition and output, the recording, the recording in the
    /// second directory, the recording that is made only for clips, the recording of each source, and uploads.
    var lines: [String] {
        let second = now.secondRecording
        let recordings: [String?] = [
            now.recorder.map { recording("record", $0, now.storage, now.retention) },
            second?.recorder.map { recording("also", $0, second?.storage, second?.retention, in: second?.directory) },
            clips,
        ]
        let uploads: [String?] = [upload(now.upload), upload(second?.upload, in: second?.directory)]
        var lines = [program] + (runDown.map { [$0] } ?? [])
        lines += (now.renditions ?? []).map(rendition) + now.outputs.map(output)
        lines += recordings.compactMap(\.self) + (now.sourceRecordings ?? []).map(sourceRecording)
        return lines + uploads.compactMap(\.self)
    }

    /// All lines, joined into one line for a log.
    var line: String { lines.map { $0.split(separator: " ").joined(separator: " ") }.joined(separator: " | ") }

    /// The totals, for the last log line of a run.
    var summary: String {
        let outputs = now.outputs.map { output in
            var parts = ["\(output.name): \(output.frames) frames, \(ByteSize(bytes: Int64(clamping: output.bytes)))"]
            if output.queue.droppedFrames > 0 { parts.append("\(output.queue.droppedFrames) dropped") }
            if output.reconnects > 0 { parts.append("\(output.reconnects) reconnects") }
            if output.keyframesRequested > 0 { parts.append("\(output.keyframesRequested) keyframes requested") }
            return parts.joined(separator: ", ")
        }
        let recordings = [
            now.recorder.map { Self.summary(of: $0, "recorded") },
            now.secondRecording.flatMap { second in
                second.recorder.map { Self.summary(of: $0, "recorded in \(second.directory)") }
            },
        ]
        return (["\(frames) frames in \(Figure.clock(seconds))"] + outputs + recordings.compactMap(\.self))
            .joined(separator: " | ")
    }

    private static func summary(of recorder: RecorderStatus, _ word: String) -> String {
        "\(word): \(recorder.framesWritten) frames, \(recorder.segmentsFinished) files, "
            + "\(ByteSize(bytes: recorder.totalBytes)), \(recorder.gapFrames) frames in \(recorder.gapCount) gaps"
            + (recorder.incompleteFrames > 0 ? ", \(recorder.incompleteFrames) incomplete frames left out" : "")
            + (slowWrites(of: recorder).map { ", \($0)" } ?? "")
    }

    /// Number of frames that have been on air so far.
    private var frames: Int64 { now.passthrough?.frames ?? now.program.frames }

    /// Program time so far, in seconds.
    private var seconds: Int64 {
        if let passed = now.passthrough { return passed.programTime.nanoseconds / 1_000_000_000 }
        return now.frameRate.timeBase.rescale(now.program.frames, to: TimeBase(1, 1), rounding: .down)
    }

    /// How many times faster than real time the encoder could have worked since the previous snapshot. At 1 it can only
    /// just keep up.
    private var speed: Double {
        let frames = now.program.frames - (before?.program.frames ?? 0)
        return now.encoder.speed(
            since: before?.encoder ?? EncoderStatus(), programSeconds: Double(frames) / now.frameRate.value)
    }

    /// Returns the line of a program that is passed through without encoding.
    private func line(of passed: PassthroughStatus) -> String {
        let last = before?.passthrough ?? PassthroughStatus()
        let rate = { (now: Int64, last: Int64) in
            before == nil || interval <= 0 ? 0 : Double(now - last) / interval
        }
        var parts = [
            Figure.clock(seconds), "\(Figure.decimal(rate(passed.frames, last.frames))) fps", "copied",
            "\(Int(rate(passed.bytes, last.bytes) * 8 / 1000)) kbit/s",
        ]
        if passed.undecodableFrames > 0 { parts.append("without keyframe \(passed.undecodableFrames)") }
        if let source = now.sources.first, source.state != .running { parts.append("input \(source.state.rawValue)") }
        return (parts + connections + monitors).joined(separator: "  ")
    }

    /// The round-trip times and missing packets of the inputs' SRT connections.
    private var connections: [String] {
        now.sources.compactMap(\.srt).flatMap { srt in
            let roundTrip = srt.moment.map { ["input rtt \(Figure.decimal($0.roundTripMilliseconds)) ms"] } ?? []
            let holes = srt.totals.packetsDropped
            return roundTrip + (holes > 0 ? ["input missing \(holes) packets"] : [])
        }
    }

    private var program: String {
        if let passed = now.passthrough { return line(of: passed) }
        let parts = [
            Figure.clock(seconds), "\(Figure.decimal(rate(\.program.frames))) fps",
            "encoder \(Figure.decimal(speed))x", "\(Int(rate(\.encoder.bytes) * 8 / 1000)) kbit/s",
            "repeated \(now.feed.framesRepeated)", "dropped \(now.feed.framesDropped + Int(now.program.skippedFrames))",
        ]
        let silence = (now.audioFeed?.silentSamples ?? 0) / 48
        let holes = silence > 0 ? ["audio missing \(silence) ms"] : []
        let errors = now.sources.reduce(0) { $0 + $1.decodeErrors }
        let damage = errors > 0 ? ["decode errors \(errors)"] : []
        let seen = now.parts?.filter(\.isOnAir).map(\.name).joined(separator: "+")
        let onAir = (now.selection?.onAir ?? seen).map { ["on air \($0.isEmpty ? "slate" : $0)"] } ?? []
        let lag = now.program.lagSeconds > 1 ? ["\(Figure.decimal(now.program.lagSeconds)) s BEHIND"] : []
        return (parts + holes + damage + onAir + connections + lag + monitors).joined(separator: "  ")
    }

    /// What the monitors measure: loudness, peak, gain and active alarms. The names of alarms are in capitals.
    private var monitors: [String] {
        guard let monitor = now.monitor else { return [] }
        var parts: [String] = []
        if let loudness = monitor.loudness {
            parts.append("loudness \(Self.level(loudness.shortTerm)) LUFS (\(Self.level(loudness.integrated)) in all)")
            parts.append("peak \(Self.level(loudness.truePeak)) dBTP")
        }
        if let gain = monitor.gain { parts.append("gain \(Self.level(gain)) dB") }
        let alarms = [("SILENT", monitor.silence), ("BLACK", monitor.black), ("FROZEN", monitor.frozen)]
        for (word, alarm) in alarms {
            if let alarm, alarm.isActive { parts.append("\(word) \(Int(alarm.seconds)) s") }
        }
        return parts
    }

    private var runDown: String? {
        now.runDown.map {
            [Self.padded("run-down", 8), Self.padded($0.state.rawValue, 11), $0.words].joined(separator: "  ")
        }
    }

    private func rendition(_ rendition: RenditionStatus) -> String {
        let last = before?.renditions?.first { $0.name == rendition.name }
        let bytes = rendition.encoder.bytes - (last?.encoder.bytes ?? 0)
        let rate = last == nil || interval <= 0 ? 0 : Double(bytes) / interval
        var parts = [
            "  \(rendition.name)", "\(rendition.width)x\(rendition.height)", "\(Int(rate * 8 / 1000)) kbit/s",
        ]
        if rendition.droppedFrames > 0 { parts.append("frames left out \(rendition.droppedFrames)") }
        if let failure = rendition.failure { parts.append("FAILED: \(failure)") }
        return parts.joined(separator: "  ")
    }

    private func output(_ output: OutputStatus) -> String {
        let isWaiting = output.state == .waiting
        // While an output waits for a receiver, its `detail` says for which kind of receiver, and is shown in place of
        // the state.
        let state = isWaiting ? output.detail ?? output.state.rawValue : output.state.rawValue
        var parts = [Self.padded(output.name, 8), Self.padded(state, 11)]
        if let rendition = output.rendition { parts.append("takes \(rendition)") }
        if output.state == .live || output.state == .draining {
            parts.append("queue \(output.queue.milliseconds) ms")
            if let receivers = output.details.receivers { parts.append("\(receivers.kind) \(receivers.count)") }
            if let rtt = output.details.roundTripMilliseconds { parts.append("rtt \(Figure.decimal(rtt)) ms") }
        }
        if output.endpoint != .primary { parts.append("at \(output.endpoint.rawValue)") }
        if output.queue.droppedFrames > 0 { parts.append("dropped \(output.queue.droppedFrames)") }
        if output.reconnects > 0 { parts.append("reconnects \(output.reconnects)") }
        if let detail = output.detail, !isWaiting { parts.append(detail) }
        return parts.joined(separator: "  ")
    }

    private func recording(
        _ label: String, _ recorder: RecorderStatus, _ storage: StorageStatus?, _ retention: RetentionStatus?,
        in directory: String? = nil
    ) -> String {
        var parts = [Self.padded(label, 8), Self.padded(recorder.state.rawValue, 11)]
        if let directory { parts.append("in \(directory)") }
        if recorder.fileName != nil {
            parts.append("file \(recorder.segmentsFinished + 1)  \(Figure.clock(Int64(recorder.segmentSeconds)))")
            parts.append("\(ByteSize(bytes: recorder.segmentBytes))")
        }
        if let writes = Self.slowWrites(of: recorder) { parts.append(writes) }
        if recorder.gapCount > 0 { parts.append("gaps \(recorder.gapCount)") }
        if let storage {
            let left = storage.secondsUntilFull.map {
                $0 < 360_000 ? "full in " + Figure.clock(Int64($0)) : "not full for days"
            }
            parts.append("disk \(storage.state.rawValue), \(left ?? "\(ByteSize(bytes: storage.freeBytes)) free")")
        }
        if let retention {
            parts.append("keeps \(retention.files) files, \(ByteSize(bytes: retention.bytes))")
        }
        if let reason = recorder.suspension ?? (recorder.state == .failed ? recorder.lastError : nil) {
            parts.append(reason)
        }
        return parts.joined(separator: "  ")
    }

    private var clips: String? {
        guard let recorder = now.clipsRecorder, recorder.state != .stopped else { return nil }
        var parts = [Self.padded("clips", 8), Self.padded(recorder.state.rawValue, 11)]
        if let reason = recorder.suspension ?? (recorder.state == .failed ? recorder.lastError : nil) {
            parts.append(reason)
        }
        return parts.joined(separator: "  ")
    }

    private func sourceRecording(_ recording: SourceRecordingStatus) -> String {
        var parts = ["  \(recording.source)", recording.recorder?.state.rawValue ?? "", recording.coding.rawValue]
        if let recorder = recording.recorder {
            if recorder.gapCount > 0 { parts.append("gaps \(recorder.gapCount)") }
            if let reason = recorder.suspension ?? (recorder.state == .failed ? recorder.lastError : nil) {
                parts.append(reason)
            }
        }
        if recording.droppedFrames > 0 { parts.append("frames left out \(recording.droppedFrames)") }
        return parts.joined(separator: "  ")
    }

    /// How long writing to the disk takes; nil if no write has ever taken a second or more.
    private static func slowWrites(of recorder: RecorderStatus) -> String? {
        let writes = recorder.writeLatency
        guard writes.maximumMilliseconds >= 1000 else { return nil }
        let times = [writes.p50Milliseconds, writes.p99Milliseconds, writes.maximumMilliseconds].map(Figure.decimal)
        return "writes: half within \(times[0]) ms, 99 % within \(times[1]) ms, longest \(times[2]) ms"
    }

    /// Returns the line of uploads; `directory` is the second directory if they are those of its recording.
    private func upload(_ upload: UploadStatus?, in directory: String? = nil) -> String? {
        guard let upload else { return nil }
        var parts = [Self.padded("upload", 8), Self.padded(upload.current == nil ? "idle" : "sending", 11)]
        if upload.current == nil, upload.lastError != nil { parts[1] = Self.padded("failed", 11) }
        if let directory { parts.append("in \(directory)") }
        parts.append("\(upload.doneFiles) done")
        if upload.waitingFiles > 0 {
            parts.append("\(upload.waitingFiles) waiting, \(ByteSize(bytes: upload.waitingBytes))")
        }
        if upload.failingFiles > 0 { parts.append("\(upload.failingFiles) failing") }
        if upload.givenUpFiles > 0 { parts.append("\(upload.givenUpFiles) given up") }
        if let error = upload.lastError { parts.append(error) }
        return parts.joined(separator: "  ")
    }

    private func rate(_ counter: KeyPath<ChannelStatus, Int64>) -> Double {
        guard let before, interval > 0 else { return 0 }
        return Double(now[keyPath: counter] - before[keyPath: counter]) / interval
    }

    /// Formats a level with one decimal, and a minus sign if it is negative.
    private static func level(_ value: Double) -> String { (value <= -0.05 ? "-" : "") + Figure.decimal(abs(value)) }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
