// SPDX-License-Identifier: Apache-2.0

/// The composition offsets of a track's samples (presentation time minus decoding time), read from the tables of any
/// plain MP4 or MOV, including files of other programs.
package struct CompositionOrder {
    /// Number of samples of the track.
    package let count: Int
    /// Number of entries in the track's `stsd`: one for each coding of its samples.
    package let codings: Int
    /// The offset of each sample in ticks; empty if all are 0.
    package let offsets: [Int32]

    /// Limit for the size of a `moov`, enough for more than a day.
    private static let movieLimit: Int64 = 256 << 20

    /// Reads the offsets of all tracks of `source`, in the order of their boxes. Throws ``MP4Failure`` if the file is
    /// fragmented or has an unsupported kind of table, and the errors of `source`.
    package static func read(_ source: some ByteSource) throws -> [CompositionOrder] {
        let movie = try movie(source)
        let boxes = try movie.boxes()
        guard !boxes.contains(where: { $0.type == "mvex" }) else {
            throw MP4Failure(description: "it is fragmented")
        }
        var (orders, room): ([CompositionOrder], Int) = ([], sampleLimit)
        for box in boxes where box.type == "trak" {
            let order = try CompositionOrder(try box.body.first("mdia").first("minf").first("stbl"), limit: room)
            room -= order.offsets.count
            orders.append(order)
        }
        return orders
    }

    private static func movie(_ source: some ByteSource) throws -> BoxReader {
        let end = try source.size()
        var position: Int64 = 0
        while position + 16 <= end {
            var header = BoxReader(try source.read(at: position, count: 16)[...])
            var size = Int64(try header.u32())
            let type = try header.code()
            let long = size == 1
            if long { size = Int64(clamping: try header.u64()) }
            if size == 0 { size = end - position }
            guard size >= (long ? 16 : 8), size <= end - position else { break }
            if type == "moov" {
                guard size <= movieLimit else { throw MP4Failure(description: "its index is absurdly large") }
                let bytes = try source.read(at: position, count: Int(size))
                return BoxReader(bytes.dropFirst(long ? 16 : 8))
            }
            position += size
        }
        throw MP4Failure(description: "there is no moov")
    }

    /// Reads the tables of one track, which may have at most `limit` offsets.
    private init(_ stbl: BoxReader, limit: Int) throws(MP4Failure) {
        var (count, codings, offsets): (Int?, Int, [Int32]) = (nil, 0, [])
        for box in try stbl.boxes() {
            var body = box.body
            switch box.type {
            case "stsd":
                _ = try body.take(4)
                codings = Int(try body.u32())
            case "stsz":
                _ = try body.take(8)
                count = Int(try body.u32())
            case "ctts": offsets = try Self.offsets(body, limit: limit)
            default: break
            }
        }
        guard let count, offsets.isEmpty || offsets.count == count else {
            throw MP4Failure(description: "its tables disagree on the number of samples")
        }
        (self.count, self.codings, self.offsets) = (count, codings, offsets)
    }

    /// Limit for the number of offsets of all tracks together: a day of video at 240 frames per second has fewer.
    private static let sampleLimit = 1 << 25

    private static func offsets(_ box: BoxReader, limit: Int) throws(MP4Failure) -> [Int32] {
        var body = box
        _ = try body.take(4)
        let runs = Int(try body.u32())
        guard runs <= body.count / 8 else { throw MP4Failure(description: "a table ends too early") }
        let bytes = Array(try body.take(runs * 8))
        var offsets: [Int32] = []
        for place in stride(from: 0, to: bytes.count, by: 8) {
            let count = Int(number(bytes, place))
            guard count <= limit - offsets.count else { throw MP4Failure(description: "a table is absurd") }
            offsets += repeatElement(Int32(bitPattern: number(bytes, place + 4)), count: count)
        }
        return offsets
    }

    private static func number(_ bytes: [UInt8], _ place: Int) -> UInt32 {
        UInt32(bytes[place]) << 24 | UInt32(bytes[place + 1]) << 16 | UInt32(bytes[place + 2]) << 8
            | UInt32(bytes[place + 3])
    }
}
