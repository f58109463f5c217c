// SPDX-License-Identifier: Apache-2.0

package import Archive
internal import MP4
internal import Media

/// The bytes of a small recording, made without a recorder. Each fragment lasts a second, and has 25 frames and 47
/// packets of audio.
package struct SampleRecording {
    /// The name of the closed file.
    package static let name = "test_20261121T140310.123Z_000001.mp4"
    /// When its first frame was on air.
    package static let start = UTCTime(milliseconds: 1_795_269_790_123)

    /// The head of a transport stream of `channel`, as libavformat describes the service.
    package static func streamHead(of channel: String) -> [UInt8] {
        var bytes = [UInt8](repeating: 0xFF, count: 188 * 8)
        for packet in 0..<8 { bytes[packet * 188] = 0x47 }
        let service = [UInt8(5)] + Array("relay".utf8) + [UInt8(channel.utf8.count)] + Array(channel.utf8)
        bytes.replaceSubrange(20..<20 + service.count, with: service)
        return bytes
    }

    /// The bytes of the file while it was open.
    package let open: [UInt8]
    /// The bytes of the closed file.
    package let closed: [UInt8]
    /// The offset of each fragment, which is the same in the open and the closed file.
    package let fragments: [Int]

    /// Creates a recording of `seconds` seconds with this ending and this frame width. It begins `late` seconds after
    /// the start of its program.
    package init(
        seconds: Int = 4, channel: String = "test", ending: SegmentEnding = .recovered, late: Int64 = 0,
        width: Int = 320
    ) {
        let rate = FrameRate(25)
        let description = StreamDescription(
            video: .init(
                format: VideoFormat(width: width, height: 180, frameRate: rate),
                decoderConfiguration: SharedBytes([1, 100, 0, 31, 255, 224, 0]), bitrate: 500_000, reorderDepth: 0,
                encoderSettings: "x264 test settings"),
            audio: .init(
                format: .program, decoderConfiguration: SharedBytes([0x11, 0x90]), bitrate: 128_000, frameLength: 1024))
        let tags = MovieTags(
            channel: channel, start: UTCTime(milliseconds: Self.start.milliseconds + late * 1000),
            encoderSettings: "x264 test settings",
            position: SegmentPosition(run: "a1", programStart: .zero + .seconds(late), ending: ending))
        let layout = MovieLayout(
            description: description, creationTime: tags.secondsSince1904, userData: tags.box)
        var bytes = MovieBox.openHead + MovieBox.open(layout)
        var tables: [UInt32: SampleTable] = [:]
        var fragments: [Int] = []
        let frame = Int64(layout.tracks[0].timescale) / 25
        for second in 0..<Int64(seconds) {
            let video = (0..<25).map { index in
                SampleEntry(
                    decodeTime: (second * 25 + index) * frame, duration: UInt32(frame), compositionOffset: 0, size: 200,
                    isSync: index == 0)
            }
            let audio = (0..<47).map { index in
                SampleEntry(
                    decodeTime: (second * 47 + index) * 1024, duration: 1024, compositionOffset: 0, size: 20,
                    isSync: true)
            }
            let runs = [
                Fragment.Run(track: layout.tracks[0], samples: video),
                Fragment.Run(track: layout.tracks[1], samples: audio),
            ]
            let (header, offsets) = Fragment(sequence: UInt32(second + 1), runs: runs).encode()
            fragments.append(bytes.count)
            for (run, offset) in zip(runs, offsets) {
                tables[run.track.id, default: SampleTable()].append(run.samples, at: UInt64(bytes.count + offset))
            }
            bytes += header
            for _ in video { bytes += [0, 0, 0, 196] + [UInt8](repeating: 0x41, count: 196) }
            for _ in audio { bytes += [UInt8](repeating: 7, count: 20) }
        }
        self.fragments = fragments
        open = bytes
        closed =
            MovieBox.closedHead(mediaEnd: Int64(bytes.count)) + bytes[MovieBox.headSize...]
            + MovieBox.closed(layout, tables)
    }

    /// The offset of the closed file's index.
    package var index: Int { open.count }
}
