// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import MP4

/// Reads transport streams of relay: to which channel they belong, and how much of them is on the disk.
package enum TransportStreamFile {
    /// The size of a packet in bytes (ISO/IEC 13818-1, 2.4.3.2).
    private static let packetSize: Int64 = 188
    private static let syncByte: UInt8 = 0x47
    /// The provider's name in the stream's service description (ETSI EN 300 468, 6.2.33).
    package static let provider = "relay"
    private static let block = 4096
    /// The number of bytes at the beginning of a stream that show whether relay wrote it, and to which channel it
    /// belongs.
    static let headSize = 4 * Int(packetSize)

    /// Whether a stream that begins with `head` names relay as its provider. A stream of relay begins with the tables.
    static func isOurs(_ head: [UInt8]) -> Bool {
        guard head.count == headSize,
            stride(from: 0, to: head.count, by: Int(packetSize)).allSatisfy({ head[$0] == syncByte })
        else { return false }
        return !BoxReader.positions(of: maker, in: head).isEmpty
    }

    /// The provider's name as it is in the service description, preceded by its length.
    private static let maker = [UInt8(provider.utf8.count)] + Array(provider.utf8)

    /// Returns the channel, which is the name of the service in a stream that begins with `head`; nil if the name
    /// cannot be read. The length and the text of the name follow those of the provider's name (ETSI EN 300 468,
    /// 6.2.33); a first byte below 0x20 selects the character table (annex A.2).
    static func channel(_ head: [UInt8]) -> String? {
        guard let position = BoxReader.positions(of: maker, in: head).first else { return nil }
        let start = position + maker.count
        let end = (start / Int(packetSize) + 1) * Int(packetSize)
        guard start < head.count, start + 1 + Int(head[start]) <= end else { return nil }
        let text = head[(start + 1)...].prefix(Int(head[start]))
        return text.isEmpty
            ? nil : String(decoding: text.first.map { $0 < 0x20 } == true ? text.dropFirst() : text, as: UTF8.self)
    }

    /// The number of complete frames and of missing bytes in a part of a stream.
    struct Content: Equatable {
        /// The number of bytes in missing packets. A packet is missing if no packet begins where it should begin.
        var missingBytes: Int64 = 0
        /// The number of frames with all of their packets.
        var frames = 0
    }

    /// Reads each packet in `range`, which must begin and end at packet boundaries. `isWhole` says whether the stream
    /// is complete up to the end of the range. The caller must know that, because a frame's PES packet contains no
    /// length (ISO/IEC 13818-1, 2.4.3.7), so that only the next frame shows that a frame is complete. Reads less than a
    /// megabyte at a time. If the disk cannot read such a block completely, the whole block counts as missing.
    static func content(of file: any ByteSource, in range: Range<Int64>, isWhole: Bool) throws -> Content {
        var content = Content()
        // Whether all packets of the current frame were found so far; nil before the first frame.
        var isFrameWhole: Bool?
        var position = range.lowerBound
        while position < range.upperBound {
            let wanted = min(Int64(block) * packetSize, range.upperBound - position)
            guard let bytes = try read(file, at: position, wanted) else {
                content.missingBytes += wanted
                isFrameWhole = isFrameWhole.map { _ in false }
                position += wanted
                continue
            }
            guard bytes.count == Int(wanted) else {
                content.missingBytes += range.upperBound - position
                return content
            }
            for start in stride(from: 0, to: bytes.count, by: Int(packetSize)) {
                let packet = bytes[start..<start + Int(packetSize)]
                if packet[start] != syncByte {
                    content.missingBytes += packetSize
                    isFrameWhole = isFrameWhole.map { _ in false }
                } else if beginsFrame(packet) {
                    content.frames += isFrameWhole == true ? 1 : 0
                    isFrameWhole = true
                }
            }
            position += wanted
        }
        content.frames += isWhole && isFrameWhole == true ? 1 : 0
        return content
    }

    /// Returns `count` bytes of `file`; nil if the disk cannot read them. One bad sector must not make the whole file
    /// unusable.
    private static func read(_ file: any ByteSource, at offset: Int64, _ count: Int64) throws -> [UInt8]? {
        do {
            return try file.read(at: offset, count: Int(count))
        } catch let failure as FileFailure where failure.code == EIO {
            return nil
        }
    }

    /// Whether a PES packet of video begins in `packet` (ISO/IEC 13818-1, 2.4.3.2 and 2.4.3.6). relay's muxer puts one
    /// frame into each PES packet.
    private static func beginsFrame(_ packet: ArraySlice<UInt8>) -> Bool {
        let start = packet.startIndex
        let (hasStart, hasAdaptation, hasPayload) = (
            packet[start + 1] & 0x40 != 0, packet[start + 3] & 0x20 != 0, packet[start + 3] & 0x10 != 0
        )
        guard hasStart, hasPayload else { return false }
        let payload = packet[start...].dropFirst(4 + (hasAdaptation ? 1 + Int(packet[start + 4]) : 0))
        return payload.starts(with: [0, 0, 1]) && payload.dropFirst(3).first.map { $0 & 0xF0 == 0xE0 } ?? false
    }

    /// Returns the range of the last packets of a stream that ends at `end`, at most `count` bytes.
    static func tail(of end: Int64, _ count: Int64) -> Range<Int64> {
        let skipped = max(0, end - count)
        return (skipped + packetSize - 1) / packetSize * packetSize..<end
    }

    /// Reads the whole closed stream at `path`, of which `written` bytes were written, and returns how many of its
    /// frames are on the disk.
    package static func frames(in path: String, written: Int64) throws -> Int {
        let file = try UncachedFile(path)
        let end = try end(of: file, size: try file.size())
        return try content(of: file, in: 0..<end, isWhole: end >= written).frames
    }

    /// Returns where the last whole packet of `file` ends. A loss of power can leave zeros at the end; a packet begins
    /// with a nonzero byte. Unreadable data is not cut off.
    static func end(of file: any ByteSource, size: Int64) throws -> Int64 {
        var packets = size / packetSize
        while packets > 0 {
            let count = min(packets, Int64(block))
            let first = packets - count
            guard let bytes = try read(file, at: first * packetSize, count * packetSize) else {
                return packets * packetSize
            }
            let last = stride(from: bytes.count - Int(packetSize), through: 0, by: -Int(packetSize))
                .first { bytes[$0] == syncByte }
            if let last { return first * packetSize + Int64(last) + packetSize }
            packets = first
        }
        return 0
    }
}
