// SPDX-License-Identifier: Apache-2.0

/// A named moment of a file.
package struct Chapter: Sendable, Equatable {
    /// The start time, in nanoseconds since the file's first frame.
    package var start: Int64
    /// The chapter's name.
    package var title: String

    package init(start: Int64, title: String) { (self.start, self.title) = (start, title) }

    /// The maximum number of chapters in a file.
    package static let most = 255

    /// The `chpl` box of `chapters`, which Nero's programs write into `udta` and which players read: times in 100 ns,
    /// at most 255 chapters, and at most 255 bytes per title. Empty without chapters.
    package static func box(_ chapters: [Chapter]) -> [UInt8] {
        guard !chapters.isEmpty else { return [] }
        var writer = BoxWriter()
        writer.fullBox("chpl", version: 1) { box in
            box.u32(0)
            box.u8(UInt8(clamping: chapters.count))
            for chapter in chapters.prefix(most) {
                box.u64(UInt64(clamping: chapter.start / 100))
                let title = cut(chapter.title)
                box.u8(UInt8(clamping: title.count))
                box.raw(title)
            }
        }
        return writer.bytes
    }

    /// At most 255 bytes of UTF-8, truncated between characters.
    static func cut(_ title: String) -> [UInt8] {
        var bytes: [UInt8] = []
        for character in title {
            let next = Array(character.utf8)
            if bytes.count + next.count > 255 { break }
            bytes += next
        }
        return bytes
    }
}
