// SPDX-License-Identifier: Apache-2.0

/// The composition offsets of a track's samples, which are the differences between presentation time and decoding time.
/// They can be read from any plain MP4 or MOV, even if another program wrote the file.
package struct CompositionOrder {
    /// The number of samples of the track.
    package let count: Int
    /// The number of entries in the track's `stsd`. There is one entry for each coding that the samples have.
    package let codings: Int
    /// The composition offset of each sample in ticks; empty if all offsets are 0.
    package let offsets: [Int32]

    /// The maximum size of a `moov` in bytes. It is enough for more than a day of media.
    private static let movieLimit: Int64 = 256 << 20

    /// Reads the composition offsets of all tracks in the file `source`, in the order of the tracks. Throws
    /// ``MP4Failure`` if the file is fragmented, if its `moov` is missing or too large, or if its sample tables are
    /// damaged, too large or of an unsupported kind, and rethrows the errors of `source`.
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

    /// Reads the composition offsets of one track from its `stbl` box. More than `limit` offsets are refused.
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

    /// The maximum number of offsets of all tracks together. A day of video at 240 frames per second has fewer.
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
