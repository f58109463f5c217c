// SPDX-License-Identifier: Apache-2.0

package import Media

/// The contents of a file's `moov` except for the samples.
package struct MovieLayout {
    /// The description of one track.
    package struct Track: Sendable {
        /// The track's `track_ID`. In files that relay writes, video has 1 and audio has 2.
        package var id: UInt32
        /// The kind of the track, such as video or audio.
        package var kind: TrackKind
        /// The number of ticks per second.
        package var timescale: UInt32
        /// The display width in pixels, in 16.16 fixed point; 0 for audio.
        package var width: UInt32 = 0
        /// The display height in pixels, in 16.16 fixed point; 0 for audio.
        package var height: UInt32 = 0
        /// The display matrix (ISO/IEC 14496-12, 8.3.2), row by row. It can rotate the video.
        package var matrix = unityMatrix
        /// All bytes of the track's `stsd` box, which describes the coding.
        package var sampleDescription: [UInt8]
        /// The duration of the empty edit before the track begins, in movie ticks.
        package var emptyEdit: Int64 = 0
        /// The time on the track's own timeline at which the visible part begins, in ticks of the track.
        package var mediaTime: Int64 = 0
        /// The duration that the track's edit list gives, in movie ticks; 0 for an open file, and for a layout that was
        /// not read from a file.
        package var shownDuration: Int64 = 0
        /// The maximum visible duration of the track, in movie ticks, even if more samples follow; nil means no
        /// maximum.
        package var limit: Int64?
    }

    /// The display matrix that changes nothing.
    static let unityMatrix: [UInt32] = [0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x4000_0000]

    /// Whether the boxes follow MP4 or QuickTime rules, and whether the file is fragmented.
    package private(set) var form = MovieForm.mp4
    /// The number of movie ticks per second. In files that relay writes, it is the audio's sample rate, so that edits
    /// of the audio are exact. Without audio it is the timescale of the video.
    package var timescale: UInt32
    /// The creation time, in seconds since 1904-01-01 UTC (ISO/IEC 14496-12, 8.2.2).
    package var creationTime: UInt64 = 0
    /// The tracks, in the order of their boxes.
    package var tracks: [Track]
    /// The movie tick at which the visible part of the movie ends, even if more samples follow; nil if it ends with the
    /// last sample.
    package var end: Int64?
    /// All bytes of the `udta` box; empty if the file has no such box.
    package var userData: [UInt8] = []

    /// The ID of the video track in files that relay writes.
    package static let videoID: UInt32 = 1
    /// The ID of the audio track in files that relay writes.
    package static let audioID: UInt32 = 2

    /// Creates the layout of a file that has the video and the audio track of `description`. `creationTime` is in
    /// seconds since 1904. `userData` is the complete `udta` box.
    package init(description: StreamDescription, creationTime: UInt64, userData: [UInt8], form: MovieForm = .mp4) {
        (tracks, self.form) = ([], form)
        if let video = description.video, let frames = video.frameFormat {
            let aspect = frames.sampleAspectRatio
            let width = Int64(frames.width) * 65536 * Int64(aspect.horizontal) / Int64(aspect.vertical)
            tracks.append(
                Track(
                    id: Self.videoID, kind: .video, timescale: Self.videoTimescale(video.timeBase),
                    width: UInt32(clamping: width), height: UInt32(clamping: frames.height << 16),
                    matrix: video.displayMatrix ?? Self.unityMatrix,
                    sampleDescription: SampleDescription.video(video, frames, form)))
        }
        if let audio = description.audio, let format = audio.audioFormat {
            tracks.append(
                Track(
                    id: Self.audioID, kind: .audio, timescale: UInt32(format.sampleRate),
                    sampleDescription: SampleDescription.audio(audio, format, form)))
        }
        // The timescale of the movie is that of the last track, which is the audio track if the file has audio.
        timescale = tracks.last?.timescale ?? 1000
        self.creationTime = creationTime
        self.userData = userData
    }

    /// Creates the layout that a reader has found in a file.
    package init(timescale: UInt32, creationTime: UInt64, tracks: [Track], userData: [UInt8]) {
        self.timescale = timescale
        self.creationTime = creationTime
        self.tracks = tracks
        self.userData = userData
    }

    /// The timescale for video: the smallest multiple of the denominator of the packets' time base that is at least
    /// 10000. All times of the packets are then exact.
    private static func videoTimescale(_ base: TimeBase) -> UInt32 {
        let ticks = UInt32(base.denominator)
        return ticks * max(1, (10_000 + ticks - 1) / ticks)
    }
}

extension MovieLayout.Track {
    /// Reads the coding and the format of a video track from its `stsd`. Throws ``MP4Failure`` for codecs other than
    /// H.264, HEVC and AV1, and for damaged boxes.
    package func video() throws(MP4Failure) -> TrackDescription {
        var whole = BoxReader(sampleDescription[...])
        var stsd = try whole.box().body
        _ = try stsd.take(8)
        let entry = try stsd.box()
        let (codec, name): (Codec, String)
        switch entry.type {
        case "avc1": (codec, name) = (.h264, "avcC")
        case "hvc1", "hev1": (codec, name) = (.hevc, "hvcC")
        case "av01": (codec, name) = (.av1, "av1C")
        default: throw MP4Failure(description: "its frames are coded in an unknown way")
        }
        // The fixed fields of a VisualSampleEntry come first (ISO/IEC 14496-12, 12.1.3).
        var fields = entry.body
        _ = try fields.take(24)
        let (width, height) = (Int(try fields.u16()), Int(try fields.u16()))
        _ = try fields.take(50)
        guard width > 0, height > 0 else { throw MP4Failure(description: "its frames have no size") }
        var (aspect, color) = (SampleAspectRatio.square, ColorDescription.unspecified)
        for box in try fields.boxes() {
            if box.type == "pasp" { aspect = try Self.aspect(box.body) }
            if box.type == "colr" { color = try Self.color(box.body) ?? color }
        }
        return TrackDescription(
            video: codec, frames: FrameFormat(width: width, height: height, sampleAspectRatio: aspect, color: color),
            timeBase: TimeBase(1, Int32(clamping: timescale)),
            decoderConfiguration: SharedBytes(Array(try fields.first(name).rest)),
            displayMatrix: matrix == MovieLayout.unityMatrix ? nil : matrix)
    }

    private static func aspect(_ body: BoxReader) throws(MP4Failure) -> SampleAspectRatio {
        var body = body
        let (across, down) = (try body.u32(), try body.u32())
        guard (1...65_535).contains(across), (1...65_535).contains(down) else { return .square }
        return SampleAspectRatio(Int32(across), Int32(down))
    }

    /// Reads the color from the content of a `colr` box of type `nclx` (ISO/IEC 14496-12, 12.1.5); nil for another
    /// type.
    private static func color(_ body: BoxReader) throws(MP4Failure) -> ColorDescription? {
        var body = body
        guard try body.code() == "nclx" else { return nil }
        let (primaries, transfer, matrix) = (try body.u16(), try body.u16(), try body.u16())
        return ColorDescription(
            primaries: UInt8(clamping: primaries), transfer: UInt8(clamping: transfer), matrix: UInt8(clamping: matrix),
            isFullRange: (try body.take(1).first ?? 0) & 0x80 != 0)
    }
}

/// The file format that the boxes follow.
package enum MovieForm: String, Sendable, CaseIterable {
    /// MP4, ISO/IEC 14496-12 and 14496-14.
    case mp4
    /// QuickTime, Apple's QuickTime File Format.
    case mov
    /// MP4 in fragments (ISO/IEC 14496-12, 8.8), which can be played while it is being received.
    case fragmented
}
