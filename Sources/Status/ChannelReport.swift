// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import FanOut
internal import Ingest
package import Media
internal import Monitor
internal import Program
internal import Segmenter
internal import Upload

/// A channel as the API shows it: its status, what became of it, and what goes on air.
package struct ChannelReport: Sendable, Encodable {
    /// The stages of a channel's life.
    package enum State: String, Sendable, Codable, CaseIterable {
        /// Inputs and encoder are being opened, or are waited for.
        case opening
        /// The program runs.
        case onAir = "on_air"
        /// It failed, and is opened again after a while.
        case waiting
        /// It is over.
        case over
    }

    /// The channel's name.
    package var name: String
    /// What it does.
    package var state: State
    /// When the snapshot was taken.
    package var time: UTCTime
    /// When the program began; nil while there is no program.
    package var startedAt: UTCTime?
    /// Program time of the newest frame, in seconds.
    package var programSeconds: Double?
    /// The tracks on air; nil while there is no program.
    package var tracks: StreamDescription?
    /// Whether a recording is wanted: false after the operator's stop.
    package var isRecordingWanted = false
    /// Whether there is a directory to record to.
    package var canRecord = false
    /// Whether a clip can begin now.
    package var canClip = false
    /// Whether it is a program of scenes, which can be asked about and changed.
    package var hasScenes = false
    /// Until when the certificate that the channel's listeners show is valid, in seconds since 1970; nil without one. For
    /// metrics alone.
    package var certificateExpiry: Int?
    /// The peaks of each channel of the sources that are heard and never seen, in dBFS, by their names. For meters alone:
    /// those of the others are in the status.
    package var heardLevels: [String: [Double]] = [:]
    /// What an operator can know of the program; nil while there is no program.
    package var status: ChannelStatus?

    /// A channel of which no more is known.
    package init(name: String, state: State, time: UTCTime = .now) {
        (self.name, self.state, self.time) = (name, state, time)
    }

    /// Whether anybody can see the program now.
    package var isOnAir: Bool { status?.outputs.contains { $0.state == .live } ?? false }
    /// Whether it is being written.
    package var isRecording: Bool { status?.recorder?.state == .recording }

    /// How much is wrong: outputs that are off air though they should not be, a recording that is wanted and not made, for
    /// clips alone, too, sources that are away, alarms, a disk that is getting full, renditions whose encoder failed, and
    /// uploads that fail.
    package var problems: Int {
        guard let status else { return state == .over ? 0 : 1 }
        let outputs = status.outputs.count { [.backingOff, .refused, .givenUp].contains($0.state) }
        let sources = status.sources.count { [.waiting, .failed].contains($0.state) }
        let alarms = [status.monitor?.silence, status.monitor?.black, status.monitor?.frozen].count {
            $0?.isActive ?? false
        }
        let recorders = [status.recorder?.state] + (status.sourceRecordings ?? []).map(\.recorder?.state)
        let recorder = isRecordingWanted ? recorders.count { [.suspended, .failed].contains($0) } : 0
        let clips = [.suspended, .failed].contains(status.clipsRecorder?.state) ? 1 : 0
        let storage = status.storage.map { $0.state == .ok ? 0 : 1 } ?? 0
        let renditions = status.renditions?.count { $0.failure != nil } ?? 0
        let uploads = ([status.upload] + (status.sourceRecordings ?? []).map(\.upload)).count { upload in
            upload.map { $0.failingFiles > 0 } ?? false
        }
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
