// SPDX-License-Identifier: Apache-2.0

internal import Media

/// The text track in which players of QuickTime files look for chapters (QuickTime File Format, "Chapter Lists"): the
/// video track refers to it, and each sample has the name of the chapter that begins there. It is disabled, so that
/// players do not draw it over the video.
package enum ChapterTrack {
    /// Its track ID in the files that relay writes.
    static let id: UInt32 = 3
    /// Its handler type.
    static let handler = "text"

    /// The track, in ticks of `timescale`.
    package static func track(timescale: UInt32) -> MovieLayout.Track {
        MovieLayout.Track(id: id, kind: .data, timescale: timescale, sampleDescription: description)
    }

    /// The sample for a chapter: the length of the text, the text, and a mark for UTF-8.
    package static func sample(_ chapter: Chapter) -> [UInt8] {
        let title = Chapter.cut(chapter.title)
        var writer = BoxWriter()
        writer.u16(UInt16(clamping: title.count))
        writer.raw(title)
        writer.box("encd") { $0.u32(0x100) }
        return writer.bytes
    }

    /// The "Text sample description", without any text style.
    private static var description: [UInt8] {
        var writer = BoxWriter()
        writer.fullBox("stsd") { stsd in
            stsd.u32(1)
            stsd.box("text") { entry in
                entry.zeros(6)
                entry.u16(1)
                // Flags, justification, background, box, reserved fields.
                entry.zeros(30)
                // Font, face, reserved fields, foreground, and the font's name.
                entry.zeros(14)
            }
        }
        return writer.bytes
    }

    /// `gmhd`, "Base media information header" and "Text media information", for a track that draws nothing.
    static func mediaHeader(_ minf: inout BoxWriter) {
        minf.box("gmhd") { gmhd in
            gmhd.fullBox("gmin") { gmin in
                // The graphics mode "dither copy", with gray as its color.
                gmin.u16(0x40)
                for _ in 0..<3 { gmin.u16(0x8000) }
                gmin.zeros(4)
            }
            gmhd.box("text") { text in
                for value in MovieLayout.unityMatrix { text.u32(value) }
            }
        }
    }

    /// Whether `trak` is a chapter track.
    static func isIn(_ trak: BoxReader) throws(MP4Failure) -> Bool {
        var handler = try trak.first("mdia").first("hdlr")
        _ = try handler.take(8)
        return try handler.code() == Self.handler
    }
}
