// SPDX-License-Identifier: Apache-2.0

package import Archive
package import LibAV
package import MP4
package import Media

/// An input as a plan sees it: what it is made of, and when its frames are shown.
package struct StitchSource: Sendable {
    /// The track of frames.
    package struct Video: Sendable {
        /// The stream's number in the file.
        package var stream: Int
        /// The codec's name, such as `h264`.
        package var codec: String
        /// What frames look like as coded, before any turn.
        package var frames: FrameFormat
        package var orientation: Orientation
        package var isInterlaced: Bool
        /// The content of `avcC` or `hvcC`.
        package var configuration: [UInt8]
        /// Why its frames cannot be copied, whatever else is in the result; nil if they can.
        package var obstacle: String?
        /// Whether frames are copied as a demuxer gives them, because they lie nowhere in the file as a whole.
        package var isDemuxed = false
        /// How a transport stream's frames are read, with the parameter sets that all of them have; nil for what has these
        /// beside the frames.
        package var units: AnnexBReader?
        /// Whether frames are of the kind that the encoder makes. That concerns H.264; in other codecs nothing can be
        /// coded as it was.
        package var is8Bit420 = true
        package var timeBase: TimeBase
        /// The frames in the order of decoding. Their `pts` is the number in the order in which they are shown: from 0 on, and
        /// below that or from the count on for those that are not shown. Their `dts` is in ticks.
        package var samples: [IndexedSample]
        /// When the frames are shown, in order, in ticks.
        package var times: [Int64]
        /// When the last one ends.
        package var end: Int64
        package var rate: FrameRate
        package var isConstant: Bool
        /// Frames at the beginning that are not shown because those before them are missing.
        package var headless = 0
        /// Frames at the end that are not shown because those before them are missing: the program that cut the file
        /// counted frames in the order of decoding.
        package var torn = 0
        /// Frames, by their numbers in the order of decoding, at which decoding can begin besides keyframes, but for those shown
        /// before them: H.264 has recovery points in open GOPs.
        package var openEntries: Set<Int> = []
        /// Keyframes, by their numbers in the order of decoding, behind which only frames of the same stream can follow those
        /// before them: CRA frames of HEVC (ITU-T H.265, 7.4.2.2).
        package var dependentKeyframes: Set<Int> = []

        /// What a decoder is told: the parameter sets, whatever else the container says of them.
        var parameterSets: [[UInt8]] {
            let units =
                codec == "hevc"
                ? HEVCParameterSets(record: configuration)?.units : AVCParameterSets(record: configuration)?.units
            return units ?? [configuration]
        }

        /// Ticks from the frame `number` to the next one.
        func step(_ number: Int) -> Int64 { times[number + 1] - times[number] }

        /// The frames, of which those are keyframes that can follow frames of another stream.
        var joinableSamples: [IndexedSample] {
            guard !dependentKeyframes.isEmpty else { return samples }
            var samples = samples
            for index in dependentKeyframes { samples[index].isSync = false }
            return samples
        }
    }

    /// The track of audio.
    package struct Audio: Sendable {
        package var stream: Int
        package var codec: String
        package var format: AudioFormat
        package var timeBase: TimeBase
        /// What is heard, in ticks.
        package var range: Range<Int64>
        /// What a decoder is told before the first packet.
        package var configuration: [UInt8] = []
        /// All packets, if they can be copied, with times in ticks: 1024 samples each, which are ticks, unless it is a
        /// recording.
        package var packets: [IndexedSample] = []
        /// Why they cannot; nil if they can.
        package var obstacle: String?
    }

    /// What a recording says that other files do not.
    package struct Recording: Sendable {
        /// The open file, which is the same however it is called meanwhile.
        package var file: FileDescriptor
        /// How its tracks are coded, the video first.
        package var tracks: [MovieLayout.Track]
        /// All frames in the order of decoding, with their times in ticks.
        package var samples: [IndexedSample]
        /// The encoder's settings in its own words; empty if the file does not say them.
        package var encoderSettings: String
        package var channel: String
    }

    /// The file as the user named it, for sentences about it.
    package var name: String
    /// Where it is, without symbolic links.
    package var path: String
    /// The container, in libavformat's words.
    package var container: String
    package var video: Video
    package var audio: Audio?
    /// When it was recorded, as the file says: milliseconds since 1970.
    package var created: Int64?
    /// Where it lies in a program, if it is a recording of this program.
    package var position: SegmentPosition?
    /// What of the file is in no result.
    package var notes: [String] = []
    /// Set if its tables were read as those of a recording, for a range.
    package var recording: Recording?

    /// The file, for a caller that copies its samples.
    func opened() throws(FileFailure) -> FileDescriptor {
        if let recording { return recording.file }
        return try .open(readOnly: path)
    }

    /// How long it is, from the first frame to the end of the last.
    package var duration: Duration { video.timeBase.duration(video.end - (video.times.first ?? 0)) }

    /// The color of its frames, with what is unspecified filled in.
    var color: ColorDescription { video.frames.color.resolved(width: video.frames.width, height: video.frames.height) }

    /// What its frames look like upright.
    var upright: FrameFormat {
        var frames = video.frames
        guard video.orientation.swapsAxes else { return frames }
        swap(&frames.width, &frames.height)
        let aspect = frames.sampleAspectRatio
        frames.sampleAspectRatio = SampleAspectRatio(aspect.vertical, aspect.horizontal)
        return frames
    }

    /// When the frame `number` begins; the end for the one behind the last.
    func time(_ number: Int) -> Int64 {
        number < video.times.count ? video.times[max(0, number)] : video.end
    }

    /// Whether `next` continues where this source ends, as two recordings of one program do.
    func isFollowed(by next: StitchSource) -> Bool {
        if isStream(before: next) { return true }
        guard let one = position, let other = next.position, one.run == other.run else { return false }
        let end = one.programStart + duration.inNanoseconds
        return abs(end - other.programStart) < video.rate.timeBase.rescale(1, to: .nanoseconds) / 2
    }

    /// Whether `next` was cut off this transport stream at its end: the time stamps continue, and what its first packet
    /// of audio needs to be decoded is in this file.
    func isStream(before next: StitchSource) -> Bool {
        guard container == "mpegts", next.container == container, video.timeBase == next.video.timeBase, let audio,
            let other = next.audio, audio.codec == other.codec, audio.format == other.format,
            audio.timeBase == other.timeBase
        else { return false }
        return abs(video.end - next.time(0)) <= video.timeBase.ticks(Self.rounding)
            && abs(audio.range.upperBound - other.range.lowerBound) <= audio.timeBase.ticks(Self.rounding)
    }

    /// By how much times are rounded if a frame is not a whole number of ticks long.
    private static let rounding = Duration.milliseconds(1)
}
