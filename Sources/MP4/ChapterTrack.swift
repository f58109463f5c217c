// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The track of text in which players of QuickTime files look for chapters (QuickTime File Format, "Chapter Lists"): the video
/// refers to it, and each sample names the chapter that begins with it. It is disabled, so that players do not show it
/// over the frames.
package enum ChapterTrack {
    /// Its number in files of this program.
    static let id: UInt32 = 3
    /// Its handler.
    static let handler = "text"

    /// The track, in ticks of `timescale`.
    package static func track(timescale: UInt32) -> MovieLayout.Track {
        MovieLayout.Track(id: id, kind: .data, timescale: timescale, sampleDescription: description)
    }

    /// The sample that names a chapter: the length of the text, the text, and that it is UTF-8.
    package static func sample(_ chapter: Chapter) -> [UInt8] {
        let title = Chapter.cut(chapter.title)
        var writer = BoxWriter()
        writer.u16(UInt16(clamping: title.count))
        writer.raw(title)
        writer.box("encd") { $0.u32(0x100) }
        return writer.bytes
    }

    /// "Text sample description": all that it says of how text looks is nothing.
    private static var description: [UInt8] {
        var writer = BoxWriter()
        writer.fullBox("stsd") { stsd in
            stsd.u32(1)
            stsd.box("text") { entry in
                entry.zeros(6)
                entry.u16(1)
                // Flags, justification, background, box, and what is reserved.
                entry.zeros(30)
                // Font, face, what is reserved, foreground, and the font's name.
                entry.zeros(14)
            }
        }
        return writer.bytes
    }

    /// `gmhd`, "Base media information header" and "Text media information": nothing is drawn.
    static func mediaHeader(_ minf: inout BoxWriter) {
        minf.box("gmhd") { gmhd in
            gmhd.fullBox("gmin") { gmin in
                // Dither copy, and gray as its color.
                gmin.u16(0x40)
                for _ in 0..<3 { gmin.u16(0x8000) }
                gmin.zeros(4)
            }
            gmhd.box("text") { text in
                for value in MovieLayout.unityMatrix { text.u32(value) }
            }
        }
    }

    /// Whether `trak` is such a track.
    static func isIn(_ trak: BoxReader) throws(MP4Failure) -> Bool {
        var handler = try trak.first("mdia").first("hdlr")
        _ = try handler.take(8)
        return try handler.code() == Self.handler
    }
}
