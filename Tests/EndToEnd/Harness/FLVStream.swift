// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The bytes that an RTMP server or a player receives. ffmpeg stores them without looking at their content.
struct FLVStream {
    /// A tag with audio, video or data (Adobe FLV 10.1, E.4.1).
    struct Tag {
        enum Kind: UInt8 {
            case audio = 8
            case video = 9
            case data = 18
        }

        let kind: Kind
        /// The timestamp in milliseconds.
        let time: Int
        let body: Data
    }

    let tags: [Tag]

    /// Reads the tags of the file at `path`. Throws if it is not an FLV file.
    init(_ path: String) throws {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        var tags: [Tag] = []
        // The first tag follows the header, and the field with the size of the tag before it.
        var place = 13
        while place + 15 <= bytes.count {
            func number(_ offset: Int, _ count: Int) -> Int {
                bytes[place + offset..<place + offset + count].reduce(0) { $0 << 8 | Int($1) }
            }
            let size = number(1, 3)
            guard place + 15 + size <= bytes.count, number(11 + size, 4) == 11 + size,
                let kind = Tag.Kind(rawValue: bytes[place])
            else { throw HarnessFailure("\(path) is no FLV file at \(place).") }
            tags.append(
                Tag(
                    kind: kind, time: number(7, 1) << 24 | number(4, 3),
                    body: bytes[place + 11..<place + 11 + size]))
            place += 15 + size
        }
        self.tags = tags
    }

    /// Starts ffmpeg, which stores what it receives at `url` in the file at `path`: either as the server to which is
    /// published, or as a player.
    static func keep(_ url: String, asServer: Bool, in path: String) throws -> ChildProcess {
        try ChildProcess(
            "ffmpeg",
            ["-v", "error", "-nostdin", "-y"] + (asServer ? ["-listen", "1"] : [])
                + ["-f", "data", "-i", url, "-map", "0", "-c", "copy", "-f", "data", path])
    }
}
