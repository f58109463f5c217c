// SPDX-License-Identifier: Apache-2.0

package import Encoder
package import FanOut
package import Ingest
package import Media
package import Monitor
package import Program
package import Segmenter
package import Upload

/// The complete status of a channel at one moment.
package struct ChannelStatus: Sendable, Codable {
    package var sources: [SourceStatus]
    /// Which input is on air; nil for a source without backups and slate, and for a program with scenes: see ``parts``.
    package var selection: SelectionStatus?
    /// The sources of a program that has scenes and is on air; nil for any other program. The status of the inputs of
    /// these sources is in ``sources``, one source after the other.
    package var parts: [PartStatus]?
    /// The position of the program's run-down, without the segments; nil without a run-down.
    package var runDown: RunDownStatus?
    package var feed: FeedStatus
    /// The status of the feed from which the audio comes; nil for a program without audio. It can be the same feed as
    /// ``feed``.
    package var audioFeed: FeedStatus?
    package var program: ProgramStatus
    package var encoder: EncoderStatus
    /// The renditions; nil if the channel has none.
    package var renditions: [RenditionStatus]?
    package var frameRate: FrameRate
    package var outputs: [OutputStatus]
    package var recorder: RecorderStatus?
    /// The status of the recorder that records only for clips, even after it has ended; nil if there never was such a
    /// recorder.
    package var clipsRecorder: RecorderStatus?
    /// The name of the rendition that is recorded; nil if the program's own encoding is recorded, or nothing.
    package var recordedRendition: String?
    package var storage: StorageStatus?
    package var retention: RetentionStatus?
    package var upload: UploadStatus?
    /// The status of the recording in the second directory; nil if there is no such directory.
    package var secondRecording: SecondRecordingStatus?
    /// The status of the recordings of the program's sources; nil if they are not recorded.
    package var sourceRecordings: [SourceRecordingStatus]?
    /// The status of a program that is passed through; the status of the encoder is then meaningless.
    package var passthrough: PassthroughStatus?
    /// The status of the monitors. In a program that is passed through, only the audio is monitored, and only if that
    /// was requested.
    package var monitor: MonitorStatus?

    /// Creates the status of a program. The code that owns the outputs and the recording adds their parts.
    package init(
        sources: [SourceStatus], selection: SelectionStatus? = nil, feed: FeedStatus, audioFeed: FeedStatus? = nil,
        program: ProgramStatus, encoder: EncoderStatus, frameRate: FrameRate, outputs: [OutputStatus] = [],
        passthrough: PassthroughStatus? = nil
    ) {
        (self.sources, self.selection, self.feed, self.audioFeed) = (sources, selection, feed, audioFeed)
        (self.program, self.encoder, self.frameRate, self.outputs) = (program, encoder, frameRate, outputs)
        self.passthrough = passthrough
    }

    /// The current program time.
    package var programTime: ProgramInstant {
        passthrough?.programTime ?? ProgramInstant(program.position, in: frameRate.timeBase)
    }
}

/// One of several sources of a program, with its own inputs.
package struct PartStatus: Sendable, Codable {
    /// The source's name.
    package var name: String
    /// Whether the source is visible.
    package var isOnAir: Bool
    /// Which of the source's inputs is shown.
    package var selection: SelectionStatus?
    /// The number of frames for which the source's previous frame was repeated.
    package var framesRepeated: Int
    /// How many of the repetitions in ``framesRepeated`` happened because the frame that was due had not arrived.
    package var framesLate: Int
    /// The number of frames of the source that were never shown.
    package var framesDropped: Int
    /// The peak of each audio channel of the source, whether it is audible or not, in dBFS; empty before any audio.
    package var levels: [Double]

    /// The status of a source with these values; `feed` is the status of the source's feed.
    package init(
        name: String, isOnAir: Bool, selection: SelectionStatus?, feed: FeedStatus = FeedStatus(), levels: [Double] = []
    ) {
        (self.name, self.isOnAir, self.selection, self.levels) = (name, isOnAir, selection, levels)
        (framesRepeated, framesLate, framesDropped) = (feed.framesRepeated, feed.framesLate, feed.framesDropped)
    }
}

/// Statistics of a program that is passed through.
package struct PassthroughStatus: Sendable, Codable {
    /// The number of packets of all tracks.
    package var packets: Int64 = 0
    /// The number of packets that are video frames.
    package var frames: Int64 = 0
    /// The total size of the packets, in bytes.
    package var bytes: Int64 = 0
    /// The latest decoding time of a packet.
    package var programTime = ProgramInstant.zero
    /// The number of frames that were dropped because they refer to a missing keyframe.
    package var undecodableFrames = 0
    /// The number of packets whose decoding time did not increase, and was therefore corrected.
    package var movedPackets = 0
    /// The number of packets that could not be decoded. They belong to the track that is re-encoded while
    /// `--copy-video` or `--copy-audio` passes the other track through.
    package var transcodingErrors = 0
    /// The number of packets of the re-encoded track that were dropped because the encoder could not keep up.
    package var skippedPackets = 0

    /// The statistics before the first packet.
    package init() {}

    /// Counts a packet that goes on air.
    package mutating func count(_ packet: EncodedPacket) {
        packets += 1
        if packet.track == .video { frames += 1 }
        bytes += Int64(packet.payload.count)
        programTime = max(programTime, packet.programDts)
    }

    private enum CodingKeys: String, CodingKey {
        case packets, frames, bytes, programTime = "programNanoseconds"
        case undecodableFrames, movedPackets, transcodingErrors, skippedPackets
    }
}

/// The status of a rendition, which is an additional encoding of the program.
package struct RenditionStatus: Sendable, Codable {
    package var name: String
    /// `width` and `height` are the size of the rendition's frames in pixels.
    package var width: Int
    package var height: Int
    package var encoder: EncoderStatus
    /// The number of frames that were dropped because the encoder could not keep up.
    package var droppedFrames: Int
    /// Why the rendition ended before the program; nil if it is running or ended with the program.
    package var failure: String?

    package init(
        name: String, width: Int, height: Int, encoder: EncoderStatus, droppedFrames: Int, failure: String? = nil
    ) {
        (self.name, self.width, self.height) = (name, width, height)
        (self.encoder, self.droppedFrames, self.failure) = (encoder, droppedFrames, failure)
    }
}

/// Which of a channel's inputs is on air, and how often the input on air has changed.
package struct SelectionStatus: Sendable, Codable {
    /// The name of the input on air, or `slate`; nil before anything is on air.
    package var onAir: String?
    /// The index of the input on air in the order of preference, 0 for the first; nil for the slate, and before
    /// anything is on air.
    package var number: Int?
    /// Why this input is on air.
    package var reason: String?
    /// How many times the input on air has changed.
    package var switches: Int64 = 0
    /// The names of the inputs, in order of preference.
    package var inputs: [String]
    /// The names of the inputs that should be open, even if they have not answered yet.
    package var open: [String] = []

    /// The status with these values; by default, none of the inputs is on air yet.
    package init(
        onAir: String? = nil, number: Int? = nil, reason: String? = nil, switches: Int64 = 0, inputs: [String],
        open: [String] = []
    ) {
        (self.onAir, self.number, self.reason, self.switches) = (onAir, number, reason, switches)
        (self.inputs, self.open) = (inputs, open)
    }
}
