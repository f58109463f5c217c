// SPDX-License-Identifier: Apache-2.0

internal import Media

/// What a file's `moov` says besides its samples.
struct MovieLayout {
    /// One track.
    struct Track {
        /// `track_ID`: 1 is the frame, 2 the audio.
        var id: UInt32
        var kind: TrackKind
        /// Ticks a second.
        var timescale: UInt32
        /// Display size in 16.16 fixed point; 0 for audio.
        var width: UInt32 = 0
        var height: UInt32 = 0
        /// The complete `stsd` box.
        var sampleDescription: [UInt8]
        /// Movie ticks in which the track shows nothing at first.
        var emptyEdit: Int64 = 0
        /// Where on the track's timeline the presentation begins.
        var mediaTime: Int64 = 0
        /// Movie ticks that the edit list of a file that was read shows; 0 while a file is open.
        var shownDuration: Int64 = 0
    }

    /// Movie ticks a second: the audio's rate, so that its edits are exact.
    var timescale: UInt32
    /// Seconds since 1904-01-01 UTC (ISO/IEC 14496-12, 8.2.2).
    var creationTime: UInt64 = 0
    var tracks: [Track]
    /// The complete `udta` box, or nothing.
    var userData: [UInt8] = []

    static let videoID: UInt32 = 1
    static let audioID: UInt32 = 2

    /// The layout of a file of `description` whose name and settings are `tags`.
    init(description: StreamDescription, tags: MovieTags) {
        let video = description.video
        let aspect = video.format.sampleAspectRatio
        let width = Int64(video.format.width) * 65536 * Int64(aspect.horizontal) / Int64(aspect.vertical)
        timescale = UInt32(description.audio.format.sampleRate)
        creationTime = tags.secondsSince1904
        tracks = [
            Track(
                id: Self.videoID, kind: .video, timescale: Self.videoTimescale(video.format.frameRate),
                width: UInt32(clamping: width), height: UInt32(clamping: video.format.height << 16),
                sampleDescription: SampleDescription.video(video)),
            Track(
                id: Self.audioID, kind: .audio, timescale: timescale,
                sampleDescription: SampleDescription.audio(description.audio)),
        ]
        userData = tags.box
    }

    /// A layout that a reader found in a file.
    init(timescale: UInt32, creationTime: UInt64, tracks: [Track], userData: [UInt8]) {
        self.timescale = timescale
        self.creationTime = creationTime
        self.tracks = tracks
        self.userData = userData
    }

    /// The least multiple of the rate's numerator that is at least 10000: a frame lasts a whole number of ticks.
    static func videoTimescale(_ rate: FrameRate) -> UInt32 {
        let numerator = UInt32(rate.numerator)
        return numerator * max(1, (10_000 + numerator - 1) / numerator)
    }
}

/// What a recording says about itself in `udta`, as iTunes-style tags, which players show.
struct MovieTags {
    /// The channel's name.
    var channel: String
    /// When the first frame was on air.
    var start: UTCTime
    /// The encoder's settings in its own words: pieces made later must repeat them.
    var encoderSettings: String
    /// The program's version; empty if it is not to be named.
    var version = ""
    /// Where the file lies in its program.
    var position: SegmentPosition?

    /// Seconds from 1904-01-01, where the format's calendar begins, to 1970-01-01.
    private static let epoch: Int64 = 2_082_844_800

    var secondsSince1904: UInt64 { UInt64(clamping: start.milliseconds / 1000 + Self.epoch) }

    /// The `udta` box. Long settings are cut: a box of this kind is no place for more.
    var box: [UInt8] {
        var writer = BoxWriter()
        writer.box("udta") { udta in
            udta.fullBox("meta") { meta in
                meta.fullBox("hdlr") { handler in
                    handler.u32(0)
                    handler.code("mdirappl")
                    handler.zeros(9)
                }
                meta.box("ilst") { list in
                    Self.item("\u{A9}nam", channel, &list)
                    Self.item("\u{A9}day", start.extended, &list)
                    Self.item("\u{A9}too", version.isEmpty ? "relay" : "relay \(version)", &list)
                    if !encoderSettings.isEmpty { Self.item("\u{A9}cmt", encoderSettings, &list) }
                    if let position { Self.custom(position.text, &list) }
                }
            }
        }
        return writer.bytes
    }

    private static func item(_ type: String, _ text: String, _ list: inout BoxWriter) {
        list.box(type) { data(text, &$0) }
    }

    /// An item of a name of our own.
    private static func custom(_ text: String, _ list: inout BoxWriter) {
        list.box("----") { item in
            item.fullBox("mean") { $0.raw(MovieTagsReader.domain.utf8) }
            item.fullBox("name") { $0.raw(MovieTagsReader.positionName.utf8) }
            data(text, &item)
        }
    }

    private static func data(_ text: String, _ item: inout BoxWriter) {
        item.box("data") { data in
            data.u32(1)  // UTF-8
            data.u32(0)
            data.raw(text.utf8.prefix(8192))
        }
    }
}
