// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The text track that holds the chapters of a QuickTime file (QuickTime File Format, "Chapter Lists"). The video track
/// refers to it. Each sample of the text track is the name of the chapter that begins there. The track is disabled, so
/// that players do not draw the text over the video.
package enum ChapterTrack {
    /// The chapter track's ID in files that relay writes.
    static let id: UInt32 = 3
    /// The handler type of a chapter track.
    static let handler = "text"

    /// The description of the chapter track. `timescale` is the number of ticks per second.
    package static func track(timescale: UInt32) -> MovieLayout.Track {
        MovieLayout.Track(id: id, kind: .data, timescale: timescale, sampleDescription: description)
    }

    /// The sample for `chapter`: the length of the text, the text, and a marker for UTF-8.
    package static func sample(_ chapter: Chapter) -> [UInt8] {
        let title = Chapter.cut(chapter.title)
        var writer = BoxWriter()
        writer.u16(UInt16(clamping: title.count))
        writer.raw(title)
        writer.box("encd") { $0.u32(0x100) }
        return writer.bytes
    }

    /// The "Text sample description" of the track, without any text style.
    private static var description: [UInt8] {
        var writer = BoxWriter()
        writer.fullBox("stsd") { stsd in
            stsd.u32(1)
            stsd.box("text") { entry in
                entry.zeros(6)
                entry.u16(1)
                // Writes zeros for flags, justification, background color, text box, and reserved fields.
                entry.zeros(30)
                // Writes zeros for font, face, reserved fields and text color, and an empty font name.
                entry.zeros(14)
            }
        }
        return writer.bytes
    }

    /// Writes `gmhd` ("Base media information header" and "Text media information") for a track that draws nothing.
    static func mediaHeader(_ minf: inout BoxWriter) {
        minf.box("gmhd") { gmhd in
            gmhd.fullBox("gmin") { gmin in
                // The graphics mode is "dither copy" with the color gray.
                gmin.u16(0x40)
                for _ in 0..<3 { gmin.u16(0x8000) }
                gmin.zeros(4)
            }
            gmhd.box("text") { text in
                for value in MovieLayout.unityMatrix { text.u32(value) }
            }
        }
    }

    /// Whether the track in the box `trak` is a chapter track.
    static func isIn(_ trak: BoxReader) throws(MP4Failure) -> Bool {
        var handler = try trak.first("mdia").first("hdlr")
        _ = try handler.take(8)
        return try handler.code() == Self.handler
    }
}
