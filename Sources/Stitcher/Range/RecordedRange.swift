// SPDX-License-Identifier: Apache-2.0

internal import Archive
internal import MP4
package import Media

/// A range of recordings of one channel. The result contains everything that was on air in this range, each frame at
/// the time at which it was on air.
package struct RecordedRange: Sendable {
    /// The recordings that overlap with the range, in order of time: their paths, and their names in messages.
    package var files: [(path: String, name: String)]
    /// The start and the end of the range: milliseconds since 1970-01-01T00:00:00Z.
    package var range: Range<Int64>
    /// Whether frames at the ends are re-encoded, so that the result is not longer than requested.
    package var isExact: Bool
    /// The range of program times in which the requested frames begin; nil if the wall clock selects the frames.
    package var program: Range<ProgramInstant>?

    package init(
        files: [(path: String, name: String)], range: Range<Int64>, isExact: Bool = true,
        program: Range<ProgramInstant>? = nil
    ) {
        (self.files, self.range, self.isExact, self.program) = (files, range, isExact, program)
    }

    /// The recordings that contain frames of the range. Blocks on the disk. If the recordings differ in coding, throws
    /// a failure in which ``ClipFailure/isDifference`` is set.
    func read(isCancelled: () -> Bool) throws(ClipFailure) -> [StitchSource] {
        var indexes: [(name: String, index: SegmentIndex)] = []
        for file in files {
            if isCancelled() { throw .cancelled }
            do throws(SegmentReadFailure) {
                indexes.append((file.name, try SegmentIndex.read(file.path)))
            } catch {
                throw ClipFailure("\(file.name) cannot be used: \(error).")
            }
        }
        var sources = indexes.map { StitchSource(name: $0.name, $0.index) }
        if let program {
            let isWanted = sources.map { $0.hasFrame(within: program) }
            indexes = zip(indexes, isWanted).filter(\.1).map(\.0)
            sources = zip(sources, isWanted).filter(\.1).map(\.0)
        }
        guard let first = indexes.first else { return [] }
        for (name, index) in indexes {
            guard let difference = index.difference(from: first.index) else { continue }
            var failure = ClipFailure("\(name) does not go with \(first.name): it has \(difference).")
            failure.isDifference = true
            throw failure
        }
        return StitchSource.joined(sources)
    }
}

extension SegmentIndex {
    /// A difference between this file and `other` because of which a player could not play both as one stream; nil if
    /// there is no such difference.
    fileprivate func difference(from other: SegmentIndex) -> String? {
        if video.size != other.video.size { return "another frame size" }
        if video.timescale != other.video.timescale
            || facts.leading.sampleDuration != other.facts.leading.sampleDuration
        {
            return "another frame rate"
        }
        if (audio == nil) != (other.audio == nil) { return audio == nil ? "no audio" : "audio" }
        if audio?.timescale != other.audio?.timescale { return "another sample rate" }
        if video.coding != other.video.coding { return "other parameter sets of the video" }
        return audio?.coding != other.audio?.coding ? "another coding of the audio" : nil
    }
}

/// The result of an export of a range, as reported to the user.
package struct ClipReport: Sendable, Codable, Equatable {
    /// The wall-clock time at which the first frame was on air, such as `2026-11-21T14:03:10.123Z`.
    package var start: String
    /// The duration of the exported file, in milliseconds.
    package var milliseconds: Int64
    /// `widenedStart` is how much earlier than requested the clip begins, and `widenedEnd` is how much later it ends,
    /// in milliseconds.
    package var widenedStart: Int64
    package var widenedEnd: Int64
    /// `copiedFrames` is the number of frames that were copied, `encodedFrames` the number of frames that were
    /// re-encoded.
    package var copiedFrames: Int
    package var encodedFrames: Int
    /// The number of recordings from which the exported file was made.
    package var files: Int
    /// The parts of the range that no file contains. During a gap between two files, the last frame before the gap is
    /// shown, without audio.
    package var gaps: [ClipGap]
    /// The recording that was still being written when the clip was made, if the range extends into that recording. The
    /// clip contains nothing from it.
    package var beingWritten: String?
    /// The time from the beginning of the first frame to the beginning of the first packet of audio, in nanoseconds;
    /// nil if there is no audio.
    package var audioOffset: Int64?

    enum CodingKeys: String, CodingKey {
        case start, milliseconds, files, gaps
        case widenedStart = "widened_start_ms"
        case widenedEnd = "widened_end_ms"
        case copiedFrames = "copied_frames"
        case encodedFrames = "encoded_frames"
        case beingWritten = "being_written"
        case audioOffset = "audio_offset_ns"
    }
}
