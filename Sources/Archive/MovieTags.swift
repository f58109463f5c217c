// SPDX-License-Identifier: Apache-2.0

package import MP4
internal import Media

/// The metadata of a recording in `udta`, as iTunes-style tags, which players show.
package struct MovieTags {
    /// The channel's name.
    package var channel: String
    /// When the first frame was on air.
    package var start: UTCTime
    /// The encoder's settings, as the encoder wrote them. Parts of the file that are encoded later must use the same
    /// settings.
    package var encoderSettings: String
    /// The version of relay. If it is empty, the file contains no version.
    package var version = ""
    /// The file's position in its program.
    package var position: SegmentPosition?
    /// The chapters at the marked moments; they are known only when the file is closed.
    package var chapters: [Chapter] = []

    /// Tags with these values.
    package init(
        channel: String, start: UTCTime, encoderSettings: String, version: String = "", position: SegmentPosition? = nil
    ) {
        (self.channel, self.start, self.encoderSettings) = (channel, start, encoderSettings)
        (self.version, self.position) = (version, position)
    }

    /// Seconds from 1904-01-01, where the format's calendar begins, to 1970-01-01.
    private static let epoch: Int64 = 2_082_844_800

    /// The start in whole seconds since 1904-01-01 UTC, the epoch of the format (ISO/IEC 14496-12, 8.2.2).
    package var secondsSince1904: UInt64 { UInt64(clamping: start.milliseconds / 1000 + Self.epoch) }

    /// The `udta` box. Long settings are truncated, so that the box stays small.
    package var box: [UInt8] {
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
            udta.raw(Chapter.box(chapters))
        }
        return writer.bytes
    }

    private static func item(_ type: String, _ text: String, _ list: inout BoxWriter) {
        list.box(type) { data(text, &$0) }
    }

    /// Writes an item with a name of relay's own.
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
