// SPDX-License-Identifier: Apache-2.0

package import Media

/// A chapter of a file: a time with a name.
package struct Chapter: Sendable, Equatable {
    /// The time at which the chapter begins, since the file's first frame.
    package var start: Timestamp
    /// The chapter's name.
    package var title: String

    package init(start: Timestamp, title: String) { (self.start, self.title) = (start, title) }

    /// The maximum number of chapters in a file.
    package static let most = 255

    /// Encodes `chapters` as a `chpl` box, which Nero's programs write into `udta` and which players read. The times
    /// are in units of 100 ns. The box has at most 255 chapters, and at most 255 bytes per title. Returns no bytes if
    /// there are no chapters.
    package static func box(_ chapters: [Chapter]) -> [UInt8] {
        guard !chapters.isEmpty else { return [] }
        var writer = BoxWriter()
        writer.fullBox("chpl", version: 1) { box in
            box.u32(0)
            box.u8(UInt8(clamping: chapters.count))
            for chapter in chapters.prefix(most) {
                box.u64(UInt64(clamping: chapter.start.nanoseconds / 100))
                let title = cut(chapter.title)
                box.u8(UInt8(clamping: title.count))
                box.raw(title)
            }
        }
        return writer.bytes
    }

    /// Encodes `title` in UTF-8 and truncates it to at most 255 bytes, between two characters.
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
