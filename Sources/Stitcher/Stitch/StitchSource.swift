// SPDX-License-Identifier: Apache-2.0

package import Archive
package import LibAV
package import MP4
package import Media

/// A file in the form in which a plan uses it: its tracks, and the times of its frames.
package struct StitchSource: Sendable {
    /// The video track.
    package struct Video: Sendable {
        /// The stream's number in the file.
        package var stream: Int
        /// The codec's name, such as `h264`.
        package var codec: String
        /// The format of the coded frames, before they are rotated for display.
        package var frames: FrameFormat
        package var orientation: Orientation
        package var isInterlaced: Bool
        /// The content of `avcC` or `hvcC`.
        package var configuration: [UInt8]
        /// Why the track's frames can never be copied; nil if they can be.
        package var obstacle: String?
        /// Whether frames are copied from a demuxer, because the file does not store them contiguously.
        package var isDemuxed = false
        /// The reader of a transport stream's frames, which knows the parameter sets that all frames have; nil for
        /// files that store parameter sets apart from the frames.
        package var units: AnnexBReader?
        /// Whether frames have the format that our encoder makes. It matters only for H.264, because the encoder makes
        /// only H.264.
        package var is8Bit420 = true
        package var timeBase: TimeBase
        /// The frames in decoding order. Their `pts` is their number in the order in which they are shown, counted from
        /// 0. Hidden frames at the beginning have negative numbers, and hidden frames at the end have the numbers that
        /// follow the last visible frame. Their `dts` is in ticks.
        package var samples: [IndexedSample]
        /// The times at which the frames are shown, in order, in ticks.
        package var times: [Int64]
        /// The time at which the last frame ends, in ticks.
        package var end: Int64
        package var rate: FrameRate
        package var isConstant: Bool
        /// The number of frames at the beginning that are hidden because frames to which they refer are missing.
        package var headless = 0
        /// The number of frames at the end that are hidden because frames to which they refer are missing. Such frames
        /// exist if the program that cut the file counted frames in decoding order.
        package var torn = 0
        /// Frames other than keyframes at which decoding can begin, by their numbers in decoding order: recovery points
        /// in open GOPs of H.264. If decoding begins at such a frame, frames that are shown before it cannot be
        /// decoded.
        package var openEntries: Set<Int> = []
        /// The numbers, in decoding order, of keyframes that must follow frames of their own stream, because frames
        /// after them refer to frames before them. These are the CRA frames of HEVC (ITU-T H.265, 7.4.2.2).
        package var dependentKeyframes: Set<Int> = []

        /// The parameter sets for a decoder, without other data that the container stores with them.
        var parameterSets: [[UInt8]] {
            let units =
                codec == "hevc"
                ? HEVCParameterSets(record: configuration)?.units : AVCParameterSets(record: configuration)?.units
            return units ?? [configuration]
        }

        /// The number of ticks from the frame `number` to the next frame.
        func step(_ number: Int) -> Int64 { times[number + 1] - times[number] }

        /// The frames in decoding order, in which only keyframes that can follow frames of another stream are marked as
        /// keyframes.
        var joinableSamples: [IndexedSample] {
            guard !dependentKeyframes.isEmpty else { return samples }
            var samples = samples
            for index in dependentKeyframes { samples[index].isSync = false }
            return samples
        }
    }

    /// The audio track.
    package struct Audio: Sendable {
        package var stream: Int
        package var codec: String
        package var format: AudioFormat
        package var timeBase: TimeBase
        /// The range in which there is audio, in ticks.
        package var range: Range<Int64>
        /// The configuration that a decoder needs before the first packet.
        package var configuration: [UInt8] = []
        /// All packets, with times in ticks; empty if they cannot be copied. A packet lasts 1024 samples, and a tick is
        /// one sample; in recordings, other values are possible.
        package var packets: [IndexedSample] = []
        /// Why the packets cannot be copied; nil if they can be.
        package var obstacle: String?
    }

    /// Properties of a recording that other files do not have.
    package struct Recording: Sendable {
        /// The open file. It stays the same file even if it is renamed in the meantime.
        package var file: FileDescriptor
        /// The coding of the recording's tracks, with the video first.
        package var tracks: [MovieLayout.Track]
        /// All frames in decoding order, with their times in ticks.
        package var samples: [IndexedSample]
        /// The encoder's settings as the encoder wrote them; empty if the file does not contain them.
        package var encoderSettings: String
        package var channel: String
    }

    /// The file's name as the user wrote it, for messages.
    package var name: String
    /// The file's path: without symbolic links or, for a recording that was read to export a range, as it was given.
    package var path: String
    /// The name of the container in libavformat.
    package var container: String
    package var video: Video
    package var audio: Audio?
    /// The time of recording that is stored in the file, in milliseconds since 1970; nil if no time is stored.
    package var created: Int64?
    /// The file's position in a program, if it is a recording of a program.
    package var position: SegmentPosition?
    /// Notes on parts of the file that no result can contain.
    package var notes: [String] = []
    /// The properties of a recording, if the file was read as a recording to export a range.
    package var recording: Recording?

    /// The open file, from which a caller copies samples.
    func opened() throws(FileFailure) -> FileDescriptor {
        if let recording { return recording.file }
        return try .open(readOnly: path)
    }

    /// The duration from the beginning of the first frame to the end of the last frame.
    package var duration: Duration { video.timeBase.duration(video.end - (video.times.first ?? 0)) }

    /// The color description of the frames, with defaults for unspecified values.
    var color: ColorDescription { video.frames.color.resolved(width: video.frames.width, height: video.frames.height) }

    /// The format of the frames after rotation for display.
    var upright: FrameFormat {
        var frames = video.frames
        guard video.orientation.swapsAxes else { return frames }
        swap(&frames.width, &frames.height)
        let aspect = frames.sampleAspectRatio
        frames.sampleAspectRatio = SampleAspectRatio(aspect.vertical, aspect.horizontal)
        return frames
    }

    /// The time at which the frame `number` begins. For the number after the last frame, it is the time at which the
    /// last frame ends.
    func time(_ number: Int) -> Int64 { number < video.times.count ? video.times[max(0, number)] : video.end }

    /// Whether `next` continues where this source ends, as the next recording of the same program does.
    func isFollowed(by next: StitchSource) -> Bool {
        if isStream(before: next) { return true }
        guard let one = position, let other = next.position, one.run == other.run else { return false }
        let end = one.programStart + duration
        return max(end - other.programStart, other.programStart - end) < video.rate.timeBase.duration(1) / 2
    }

    /// Whether `next` continues this transport stream, which was cut into files: the timestamps continue, and the
    /// packet that is needed to decode the first audio of `next` is in this file.
    func isStream(before next: StitchSource) -> Bool {
        guard container == "mpegts", next.container == container, video.timeBase == next.video.timeBase, let audio,
            let other = next.audio, audio.codec == other.codec, audio.format == other.format,
            audio.timeBase == other.timeBase
        else { return false }
        return abs(video.end - next.time(0)) <= video.timeBase.ticks(Self.rounding)
            && abs(audio.range.upperBound - other.range.lowerBound) <= audio.timeBase.ticks(Self.rounding)
    }

    /// The rounding error of times if the duration of a frame is not a whole number of ticks.
    private static let rounding = Duration.milliseconds(1)
}
