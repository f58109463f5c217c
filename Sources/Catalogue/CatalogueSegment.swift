// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import MP4
package import Media

/// A file of a recording, as a row of the catalogue. The file itself is authoritative: if it is an MP4, all values
/// except ``sha256``, ``upload`` and ``deleted`` can be read from it again.
package struct CatalogueSegment: Sendable, Codable, Equatable {
    /// The file's path, relative to the directory of the recordings.
    package var name: String
    /// The channel to which the recording belongs.
    package var channel: String
    /// The file's sequence number within the channel, if its name contains one.
    package var sequence: Int?
    /// The recorder's run to which the program times belong; nil if the file does not contain the run.
    package var run: String?
    /// When the first frame was on air: milliseconds since 1970-01-01T00:00:00Z.
    package var start: Int64
    /// Program time of the first frame.
    package var programStart: ProgramInstant?
    /// Program time at which the frames end.
    package var programEnd: ProgramInstant?
    /// Program time up to which no frame is missing. A file that ended suddenly can contain a few frames after that
    /// time, because frames between them were lost.
    package var wholeEnd: ProgramInstant?
    /// The number of frames after ``wholeEnd``.
    package var lateFrames: Int
    /// The duration of one frame or, in a file without video, of one packet, in nanoseconds.
    package var frameDuration: Int64
    /// Program time of the first frame in presentation order.
    package var firstPts: ProgramInstant?
    /// Program time of the last frame in presentation order.
    package var lastPts: ProgramInstant?
    /// The total duration of the frames, in nanoseconds.
    package var duration: Int64
    /// The number of frames.
    package var frames: Int
    /// Audio samples per channel that are played.
    package var audioSamples: Int64
    /// The file's size in bytes.
    package var bytes: Int64
    /// The SHA-256 of the file in hexadecimal digits; nil until it is computed.
    package var sha256: String?
    /// How the file ended; nil if the file does not say.
    package var ending: SegmentEnding?
    /// The upload state; nil if the file was never queued.
    package var upload: UploadState?
    /// When retention or an operator deleted the file: milliseconds since 1970-01-01T00:00:00Z; nil while the file
    /// exists.
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
    /// The minimum duration of a frame, in nanoseconds, so that a number of frames that is computed from it does not
    /// overflow.
    static let shortestFrame: Int64 = 100_000
    /// The approximate duration of an audio packet, in nanoseconds: 1024 samples at 48 kHz.
    private static let audioPacket: Int64 = 21_333_333

    /// The row of the file `name`, from the file's own metadata.
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
        programEnd = position.programStart + .nanoseconds(facts.duration)
        wholeEnd = position.programStart + .nanoseconds(facts.leading.nanoseconds(facts.leading.whole))
        lastPts = position.programStart + .nanoseconds(facts.leading.nanoseconds(facts.leading.lastSample))
    }

    /// The row of a file that cannot be read as an MP4, from the recorder's report.
    init(record: SegmentRecord) {
        name = record.fileName
        channel = record.channel
        sequence = record.sequence
        run = record.run.isEmpty ? nil : record.run
        start = record.start.milliseconds
        duration = (record.programEnd - record.programStart).inNanoseconds
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
        lastPts = max(record.programStart, record.programEnd - .nanoseconds(frameDuration))
    }

    /// The row of a file of `channel` for which only the directory entry and the `upload` state are known. It is the only
    /// kind of row without program times and duration, and its ``start`` is the time at which the file ended.
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

    /// Returns the total duration of `segments`, in nanoseconds; at most 146 years.
    package static func length(of segments: some Sequence<CatalogueSegment>) -> Int64 {
        segments.reduce(0) { min($0 + $1.duration, 1 << 62) }
    }

    /// When the frames ended: milliseconds since 1970-01-01T00:00:00Z.
    var end: Int64 { start + duration / 1_000_000 }

    /// Whether the file contains audio and no frames.
    var isAudioAlone: Bool { frames == 0 && audioSamples > 0 }

    /// Returns how many samples are in `time`, for a program without video; nil for a program with frames, whose gaps are
    /// counted in frames.
    func audioSamples(in time: Duration) -> Int64? {
        guard isAudioAlone, duration > 0 else { return nil }
        return Int64(clamping: Int128(audioSamples) * Int128(time.inNanoseconds) / Int128(duration))
    }

    private static func sequence(of name: String) -> Int? {
        SegmentName(fileName: String(name.split(separator: "/").last ?? ""))?.sequence
    }

    /// Whether `other` describes the same bytes, as far as that can be determined without reading the file.
    func isSameFile(as other: CatalogueSegment) -> Bool {
        (name, bytes, start, frames) == (other.name, other.bytes, other.start, other.frames)
            && (run, programStart) == (other.run, other.programStart)
    }
}
