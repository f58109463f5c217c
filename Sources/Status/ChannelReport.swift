// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import FanOut
internal import Ingest
package import Media
internal import Monitor
internal import Program
internal import Segmenter
internal import Upload

/// A channel as the API shows it: its state, its status, and its program.
///
/// ```swift
/// var report = ChannelReport(name: "studio", state: .onAir)
/// report.status = status
/// print(report.isOnAir, report.isRecording, report.problems)
/// ```
package struct ChannelReport: Sendable, Encodable {
    /// The stages of a channel's life.
    package enum State: String, Sendable, Codable, CaseIterable {
        /// The inputs and the encoder are being opened, or the channel waits for them.
        case opening
        /// The program runs.
        case onAir = "on_air"
        /// The channel failed, and waits until it is reopened.
        case waiting
        /// The channel has ended.
        case over
    }

    /// The channel's name.
    package var name: String
    /// The channel's state.
    package var state: State
    /// Whether the channel has ended as intended: its media or its duration has ended, or it was told to end. It is
    /// used only to decide whether the process is ready.
    package var isDone = false
    /// When the snapshot was taken.
    package var time: UTCTime
    /// When the program began; nil without a program.
    package var startedAt: UTCTime?
    /// Program time of the newest frame, in seconds.
    package var programSeconds: Double?
    /// The tracks on air; nil without a program.
    package var tracks: StreamDescription?
    /// Whether the program should be recorded, as an operator has said last or, before that, as it is configured. A
    /// recording that is made only for clips does not count.
    package var isRecordingWanted = false
    /// Whether a directory for recordings is configured.
    package var canRecord = false
    /// Whether a clip can be started now.
    package var canClip = false
    /// Whether the program has scenes, which can be queried and changed.
    package var hasScenes = false
    /// When the certificate of the channel's listeners expires, in seconds since 1970; nil without a certificate. It is
    /// used only for metrics.
    package var certificateExpiry: Int?
    /// The peak of each audio channel of the sources that are audible but never visible, in dBFS, by source name. It is
    /// used only for meters. The levels of other sources are in the status.
    package var heardLevels: [String: [Double]] = [:]
    /// The status of the program for operators; nil without a program.
    package var status: ChannelStatus?

    /// A report with only these values.
    package init(name: String, state: State, time: UTCTime = .now) {
        (self.name, self.state, self.time) = (name, state, time)
    }

    /// Whether any output is live.
    package var isOnAir: Bool { status?.outputs.contains { $0.state == .live } ?? false }
    /// Whether the program is being recorded, in any directory.
    package var isRecording: Bool {
        [status?.recorder?.state, status?.secondRecording?.recorder?.state].contains(.recording)
    }

    /// The number of problems. A channel without a program counts as one problem, unless it has ended. Otherwise, these
    /// are problems: outputs that should be on air and are not; a recording that should be running and is not,
    /// including one for clips; sources that are missing; alarms; a disk that is becoming full or cannot be used;
    /// renditions whose encoder failed; and uploads that fail.
    package var problems: Int {
        guard let status else { return state == .over ? 0 : 1 }
        let outputs = status.outputs.count { [.backingOff, .refused, .givenUp].contains($0.state) }
        let sources = status.sources.count { [.waiting, .failed].contains($0.state) }
        let alarms = [status.monitor?.silence, status.monitor?.black, status.monitor?.frozen].count {
            $0?.isActive ?? false
        }
        let second = status.secondRecording
        let recorders =
            [status.recorder?.state, second?.recorder?.state]
            + (status.sourceRecordings ?? []).map(\.recorder?.state)
        let recorder = isRecordingWanted ? recorders.count { [.suspended, .failed].contains($0) } : 0
        let clips = [.suspended, .failed].contains(status.clipsRecorder?.state) ? 1 : 0
        let storage = [status.storage, second?.storage].count { $0.map { $0.state != .ok } ?? false }
        let renditions = status.renditions?.count { $0.failure != nil } ?? 0
        let allUploads = [status.upload, second?.upload] + (status.sourceRecordings ?? []).map(\.upload)
        let uploads = allUploads.count { $0.map { $0.failingFiles > 0 } ?? false }
        return outputs + sources + alarms + recorder + clips + storage + renditions + uploads
    }

    private enum Key: String, CodingKey {
        case name, state, time, startedAt, programSeconds, isOnAir, isRecording, problems, video, audio
        case isRecordingWanted, canRecord, canClip, hasScenes
    }

    package func encode(to encoder: any Encoder) throws {
        try status?.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(name, forKey: .name)
        try container.encode(state, forKey: .state)
        try container.encode(time.extended, forKey: .time)
        try container.encodeIfPresent(startedAt?.extended, forKey: .startedAt)
        try container.encodeIfPresent(programSeconds, forKey: .programSeconds)
        try container.encode(isOnAir, forKey: .isOnAir)
        try container.encode(isRecording, forKey: .isRecording)
        try container.encode(problems, forKey: .problems)
        try container.encode(isRecordingWanted, forKey: .isRecordingWanted)
        try container.encode(canRecord, forKey: .canRecord)
        try container.encode(canClip, forKey: .canClip)
        try container.encode(hasScenes, forKey: .hasScenes)
        try container.encodeIfPresent(tracks?.video.map(VideoReport.init), forKey: .video)
        try container.encodeIfPresent(tracks?.audio.map(AudioReport.init), forKey: .audio)
    }
}
