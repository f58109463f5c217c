// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import MP4

/// A file of a recording, as a row of the catalogue. The file itself is the truth; all of this can be read from it
/// again, but for ``sha256`` and ``upload``.
package struct CatalogueSegment: Sendable, Codable, Equatable {
    /// The file, relative to the directory of the recordings.
    package var name: String
    /// The channel.
    package var channel: String
    /// The file's number within the channel, if its name says one.
    package var sequence: Int?
    /// Names the run of the recorder whose program times these are; nil if the file does not say it.
    package var run: String?
    /// When the first frame was on air: milliseconds since 1970-01-01T00:00:00Z.
    package var start: Int64
    /// Program time of the first frame, in nanoseconds.
    package var programStart: Int64?
    /// Program time at which the frames end, in nanoseconds.
    package var programEnd: Int64?
    /// Program time up to which no frame is missing, in nanoseconds. A file that ended suddenly may hold a few
    /// frames behind it, which are shown after others that were lost.
    package var wholeEnd: Int64?
    /// Frames behind ``wholeEnd``.
    package var lateFrames: Int
    /// How long one frame lasts, or a packet in a file of audio alone, in nanoseconds.
    package var frameDuration: Int64
    /// Program time of the frame that is shown first, in nanoseconds.
    package var firstPts: Int64?
    /// Program time of the frame that is shown last, in nanoseconds.
    package var lastPts: Int64?
    /// How long the frames last, in nanoseconds.
    package var duration: Int64
    /// Frames.
    package var frames: Int
    /// Samples of audio of each channel that are heard.
    package var audioSamples: Int64
    /// The file's size.
    package var bytes: Int64
    /// The SHA-256 of the file in hexadecimal digits; nil until it is computed.
    package var sha256: String?
    /// How the file ended; nil if it does not say it.
    package var ending: SegmentEnding?
    /// What became of the upload; nil where nothing is uploaded.
    package var upload: UploadState?
    /// When retention deleted the file: milliseconds since 1970-01-01T00:00:00Z; nil while it is there.
    package var deleted: Int64?

    enum CodingKeys: String, CodingKey, CaseIterable {
        case name, channel, sequence, run, start, duration, frames, bytes, sha256, ending, upload, deleted
        case programStart = "program_start"
        case programEnd = "program_end"
        case wholeEnd = "whole_end"
        case lateFrames = "late_frames"
        case frameDuration = "frame_duration"
        case firstPts = "first_pts"
        case lastPts = "last_pts"
        case audioSamples = "audio_samples"
    }
}

extension CatalogueSegment {
    /// The least time that a frame lasts, in nanoseconds: what is divided by it stays countable.
    static let shortestFrame: Int64 = 100_000
    /// About what a packet of audio lasts, in nanoseconds: 1024 samples of 48 kHz.
    private static let audioPacket: Int64 = 21_333_333

    /// What the file `name` says about itself.
    init(name: String, facts: SegmentFacts) {
        self.name = name
        channel = facts.channel
        sequence = Self.sequence(of: name)
        start = facts.start.milliseconds
        duration = facts.duration
        frames = facts.frames
        audioSamples = facts.audio?.shown ?? 0
        bytes = facts.bytes
        lateFrames = facts.leading.lateSamples
        frameDuration = max(Self.shortestFrame, facts.frameDuration)
        guard let position = facts.position else { return }
        run = position.run
        ending = position.ending
        programStart = position.programStart
        firstPts = position.programStart
        programEnd = position.programStart + facts.duration
        wholeEnd = position.programStart + facts.leading.nanoseconds(facts.leading.whole)
        lastPts = position.programStart + facts.leading.nanoseconds(facts.leading.lastSample)
    }

    /// What the recorder says of a file that cannot be read as an MP4.
    init(record: SegmentRecord) {
        name = record.fileName
        channel = record.channel
        sequence = record.sequence
        run = record.run.isEmpty ? nil : record.run
        start = record.start.milliseconds
        duration = record.programEnd - record.programStart
        frames = record.frames
        audioSamples = record.audioSamples
        bytes = record.bytes
        ending = record.ending
        programStart = record.programStart
        programEnd = record.programEnd
        firstPts = record.programStart
        wholeEnd = record.programEnd
        lateFrames = 0
        frameDuration = max(Self.shortestFrame, duration / Int64(max(1, record.frames)))
        if isAudioAlone { frameDuration = Self.audioPacket }
        lastPts = max(record.programStart, record.programEnd - frameDuration)
    }

    /// What the directory says of a file of `channel` of which nothing is known but what became of its `upload`.
    init(file: StoredSegment, channel: String, upload: UploadState?) {
        name = file.fileName
        self.channel = channel
        sequence = Self.sequence(of: name)
        start = file.ended.milliseconds
        (duration, frames, audioSamples, lateFrames) = (0, 0, 0, 0)
        bytes = file.bytes
        frameDuration = Self.shortestFrame
        self.upload = upload
    }

    /// How long `segments` last together, in nanoseconds; at most 146 years.
    package static func length(of segments: some Sequence<CatalogueSegment>) -> Int64 {
        segments.reduce(0) { min($0 + $1.duration, 1 << 62) }
    }

    /// Whether the program has no video.
    var isAudioAlone: Bool { frames == 0 && audioSamples > 0 }

    /// How many samples of a program of audio alone last `time` nanoseconds; nil of one with frames, where a gap tells them.
    func audioSamples(in time: Int64) -> Int64? {
        guard isAudioAlone, duration > 0 else { return nil }
        return Int64(clamping: Int128(audioSamples) * Int128(time) / Int128(duration))
    }

    private static func sequence(of name: String) -> Int? {
        SegmentName(fileName: String(name.split(separator: "/").last ?? ""))?.sequence
    }

    /// Whether `other` describes the same bytes, as far as that can be told without reading them.
    func isSameFile(as other: CatalogueSegment) -> Bool {
        (name, bytes, start, frames) == (other.name, other.bytes, other.start, other.frames)
            && (run, programStart) == (other.run, other.programStart)
    }
}
